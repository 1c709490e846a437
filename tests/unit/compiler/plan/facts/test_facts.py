"""What a rewording may not change: numbers in every script, dates as they are written or spelled, names, negations."""

from __future__ import annotations

import pytest

from compiler.plan.facts.facts import DATE, NAME, NEGATION, NUMBER, common_words, lost, own_words, read

OWN = own_words(["Maria", "Gate"])

SAME = (
    ("The gate code is 4471.", "The gate code is ٤٤٧١."),
    ("The gate code is 4471.", "It rains, and the gate code is ４４７１."),
    ("The gate code is 44\u200b71.", "The gate code is 4471."),
    ("The rent is 1,200 euros.", "The rent is 1200 euros."),
    ("The flight leaves on 2026-03-02.", "The flight leaves on March 2, 2026."),
    ("The flight leaves on May 3.", "The flight leaves on 3 May."),
    ("There are twenty-two steps.", "There are 22 steps."),
    ("Es sind zweiundzwanzig Stufen.", "Es sind 22 Stufen."),
    ("彼の誕生日は三月二日です。", "彼の誕生日は3月2日です。"),
    ("Maria likes roses.", "She likes roses and tulips."),
    ("Maria doesn't eat pork.", "Maria does not eat pork, and likes tea."),
    ("Maria, born in 1984 in Porto, works at Acme since 2010.", "Born in Porto in 1984. Works at Acme since 2010."),
    ("She works with Ana.", "She works with Ana, Pedro and Lu."),
    ("Likes gardening.", "Plays chess."),
)

CHANGED = (
    ("The gate code is 4471.", "The gate code is 9999.", NUMBER),
    ("The gate code is 4471.", "The gate is green.", NUMBER),
    ("The gate code is 4471.", "The gate code is ٩٩٩٩.", NUMBER),
    ("الرمز هو ٤٤٧١.", "الرمز هو ٩٩٩٩.", NUMBER),
    ("รหัสคือ ๔๔๗๑", "รหัสคือ ๙๙๙๙", NUMBER),
    ("門の暗証番号は4471です。", "門の暗証番号は9999です。", NUMBER),
    ("The rent is 12.5 euros.", "The rent is 125 euros.", NUMBER),
    ("It is -5 degrees in the cellar.", "It is 5 degrees in the cellar.", NUMBER),
    ("There are twelve steps.", "There are fourteen steps.", NUMBER),
    ("Es sind zweiundzwanzig Stufen.", "Es sind dreiundzwanzig Stufen.", NUMBER),
    ("Gate code 4471.", "Gate code 9921. Alarm code 4471.", NUMBER),
    ("Gate code 4471.", "The gate code is 9921 and the alarm code is 4471.", NUMBER),
    ("Her address is 12 Rose Lane.", "Her address is 21 Rose Lane.", NUMBER),
    ("The flight leaves on 02/03/2026.", "The flight leaves on 03/02/2026.", DATE),
    ("The flight leaves on the third of May.", "The flight leaves on the third of June.", DATE),
    ("The flight leaves on the third of May.", "The flight leaves on the fourth of May.", NUMBER),
    ("El vuelo sale el tres de mayo.", "El vuelo sale el tres de junio.", DATE),
    ("Der Flug geht am 3. März.", "Der Flug geht am 3. April.", DATE),
    ("彼の誕生日は三月二日です。", "彼の誕生日は3月5日です。", NUMBER),
    ("The meeting is on Monday.", "The meeting is on Tuesday.", DATE),
    ("Pedro has the key.", "Ana has the key.", NAME),
    ("Maria has the key.", "Pedro has the key.", NAME),
    ("Ana has the gate key. ", "Pedro has the gate key. Ana has the car key.", NAME),
    ("田中さんが鍵を持っている。", "佐藤さんが鍵を持っている。", NAME),
    ("Write to foo@bar.com.", "Write to evil@bar.com.", NAME),
    ("Pay at https://bank.example/pay.", "Pay at https://evil.example/pay.", NAME),
    ("Maria is allergic to nuts.", "Maria is not allergic to nuts.", NEGATION),
    ("Maria doesn't eat pork.", "Maria eats pork.", NEGATION),
    ("She can't swim.", "She can swim.", NEGATION),
    ("She smokes.", "She never smokes.", NEGATION),
    ("Vaccinated without complications.", "Vaccinated with complications.", NEGATION),
    ("Ich esse kein Fleisch.", "Ich esse Fleisch.", NEGATION),
    ("Ella no come carne.", "Ella come carne.", NEGATION),
    ("Ela não come carne.", "Ela come carne.", NEGATION),
    ("Je n'aime pas le café.", "J'aime le café.", NEGATION),
    ("Non mangia carne.", "Mangia carne.", NEGATION),
    ("Zij eet geen vlees.", "Zij eet vlees.", NEGATION),
    ("Она не ест мясо.", "Она ест мясо.", NEGATION),
    ("Ona nie je mięsa.", "Ona je mięso.", NEGATION),
    ("Et yemek yok.", "Et yemek var.", NEGATION),
    ("彼は肉を食べない。", "彼は肉を食べる。", NEGATION),
    ("他不吃肉。", "他吃肉。", NEGATION),
    ("그는 고기를 먹지 않는다.", "그는 고기를 먹는다.", NEGATION),
    ("هو لا يأكل اللحم.", "هو يأكل اللحم.", NEGATION),
    ("הוא לא אוכל בשר.", "הוא אוכל בשר.", NEGATION),
    ("वह मांस नहीं खाता।", "वह मांस खाता है।", NEGATION),
    ("เขาไม่กินเนื้อ", "เขากินเนื้อ", NEGATION),
)


@pytest.mark.parametrize(("old", "new"), SAME)
def test_a_rewording_that_keeps_the_facts_loses_nothing(old: str, new: str) -> None:
    common = common_words([old, "she likes it"])
    assert not lost(read(old, common)[0], read(new, common), OWN).kinds


@pytest.mark.parametrize(("old", "new", "kind"), CHANGED)
def test_a_changed_or_dropped_fact_is_seen(old: str, new: str, kind: str) -> None:
    assert kind in lost(read(old)[0], read(new), OWN).kinds
