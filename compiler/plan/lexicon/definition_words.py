"""Words of sentences that define a person or thing, folded, by role and by language: data only.

An underscore stands for a space.
"""

from __future__ import annotations

WORDS = """
is
  english: is are was were means stands_for
  german: ist war
  spanish: es era
  portuguese: foi
  french: est etait
is called
  english: is was is_called was_called are_called is_named was_named are_named
  german: ist war heisst hiess wird wurde
  spanish: es sera se_llama se_llamaba
  portuguese: se_chama se_chamava chama_se
  french: est sappelle
  italian: si_chiama
bears
  english: is_called is_named
  german: heisst hiess
  spanish: se_llama se_llamaba
  portuguese: se_chama chama_se
  french: sappelle
  italian: si_chiama
one
  english: a an one
  german: ein eine einen einem einer
  spanish: un una
  portuguese: um uma
  french: un une
becomes
  english: became_an? became_the became_our became_my became_his became_her has_become_an? has_become_the has_become_our
  english: was_elected was_appointed was_promoted_to got_promoted_to
  german: ist_jetzt wurde_zum wurde_zur
  spanish: paso_a_ser fue_nombrad[oa] fue_elegid[oa]
  portuguese: virou tornou_se passou_a_ser foi_nomead[oa] foi_eleit[oa]
  french: est_devenue? devient a_ete_nommee? a_ete_elue?
  italian: e_diventat[oa] e_stat[oa]_nominat[oa]
is chosen
  german: wurde ist
has
  english: has have hired
  german: hat haben
  spanish: tiene tienen hay
  portuguese: tem
  french: a ont
married to
  english: married_to engaged_to
  german: verheiratet_mit
  spanish: casado_con casada_con
  portuguese: casado_com casada_com
  french: marie_a mariee_a marie_avec mariee_avec
title
  english: dr prof mr mrs ms
  german: herr frau
  spanish: dra sr sra senor senora doctor doctora don dona
  portuguese: doutor doutora
  french: mme monsieur madame
how much
  spanish: muy mas tan
  portuguese: muito mais tao
before a name
  english: the dr prof mr mrs ms now
  german: der die herr herrn frau jetzt
  spanish: el la senor senora doctor doctora don dona ahora
  portuguese: o a dra doutor doutora seu agora
leads
  english: runs leads owns manages heads looks_after teaches coordinates oversees supervises
  german: leitet fuhrt betreut unterrichtet verwaltet
  spanish: dirige coordina lidera gestiona
  portuguese: coordena gerencia gere dirige cuida_da cuida_do
  french: dirige gere enseigne soccupe_de soccupe_du
works
  english: works worked
  german: arbeitet
  spanish: trabaja
  portuguese: trabalha
  french: travaille
  italian: lavora
works at
  english: at as for in
  german: bei als am im fur
  spanish: en como de
  portuguese: na no em
  french: chez comme
  italian: da come
lives
  english: lives lived living based born grew_up i_live we_live they_live
  german: lebt wohnt lebe wohne wohnen geboren aufgewachsen
  spanish: vive vivo viven vivimos nacio crecio
  portuguese: mora moro moram vivem nasceu cresceu
  french: habite habitent vit est_ne est_nee
  italian: abita nato nata
in
  english: in
  german: in
  spanish: en
  portuguese: em no na
  french: a au en
moves to
  english: moved_to moved_back_to moves_to originally_from
  german: zieht_nach zog_nach gezogen_nach stammt_aus kommt_aus
  spanish: se_mudo_a se_muda_a viene_de
  portuguese: mudou_se_para muda_se_para mudou_para
  french: demenage_a demenage_en
article
  english: a an the one my our his her their
  german: ein eine der die das mein meine unser unsere sein seine ihr ihre
  spanish: un una el la los las mi nuestro nuestra su
  portuguese: um uma o os as meu minha nosso nossa seu sua
  french: une le mon ma
article in a case
  german: einem einer einen
possessive
  english: my our his her their
  german: mein meine meinem meinen meiner unser unsere unserem unseren unserer sein seine seinem seinen seiner
  german: ihr ihre ihrem ihren ihrer
  spanish: mi mis su sus nuestro nuestra nuestros nuestras
  portuguese: meu minha seu sua nosso nossa
  french: mon ma notre son sa
  italian: mio mia
no kind
  english: reason best only one ones same worst bit lot little problem answer question mess name surname nickname
  german: beste besten bester einzige einzigen einziger letzte letzten letzter grund
  spanish: mejor peor unico unica mismo misma problema
  portuguese: melhor pior mesmo mesma
  french: meilleur meilleure seul seule
supposing
  english: thought thinks believed believes assumed imagined dreamed dreamt pretended pretends wished wishes hoped hopes doubts
  german: dachte denkt glaubte glaubt hielt traumte wunschte hofft hoffte
  spanish: creyo creia cree penso pensaba piensa sono imaginaba espera
  portuguese: achou achava acha pensou pensava acreditava sonhou imaginava espera
  french: croyait croit pensait pense imaginait revait espere
pronoun
  english: his her their its he she
  german: sein ihr er sie
  spanish: su el ella
  portuguese: seu sua ele ela
  french: son sa il elle
aim
  english: plan idea goal aim choice hope dream wish destination answer winner question
  german: plan idee ziel wunsch wahl traum antwort frage
  spanish: plan idea meta objetivo deseo sueno destino respuesta pregunta
  portuguese: plano ideia meta objetivo desejo sonho destino resposta pergunta
  french: plan idee but souhait choix reve destination reponse question
no office
  english: old new first next last whole own favourite favorite dear poor usual best other and
  german: neue neuen neuer alte alten erste ersten ganze und
  spanish: nuevo nueva nuevos viejo primer primera y
  portuguese: novo nova velho velha e
  french: nouveau nouvelle et
and
  english: and
  german: und
  spanish: y
  portuguese: e
  french: et
now or not
  english: now also currently no_longer not
  german: jetzt nun nicht_mehr auch kein keine
  spanish: ahora ya_no tambien
  portuguese: agora ja_nao nao tambem
but not
  english: not never doesnt dont didnt isnt wasnt hasnt havent says said thinks thought heard hopes fears
  english: because when after since if that who which
  german: nicht nie sagt sagte glaubt denkt meint hofft weil wenn nachdem dass
  spanish: no nunca dice dijo cree piensa porque cuando desde que
  portuguese: nao nunca diz disse acha porque quando desde que
  french: pas jamais dit pense croit parce quand depuis qui
will be
  english: will going_to should would wants_to wanted_to want_to hopes_to plans_to about_to thinking_of considering might could
  english: almost nearly
  german: wird werden soll will mochte uberlegt fast beinahe
  spanish: sera va_a quiere podria casi
  portuguese: vai quer poderia quase
  french: va veut voudrait pourrait presque failli
here
  english: here there away back late out off
  german: da dort hier weg
  spanish: aqui alli
  portuguese: fora
from
  english: from of
  german: vom von_der von_den aus_der aus_dem
  spanish: del de_la
  portuguese: da do
  french: du
for
  english: for from with to by
  german: fur mit von bei aus
  spanish: para con
  portuguese: com
  french: pour avec
whom all call
  english: whom_everyone_calls whom_everybody_calls who_everyone_calls who_everybody_calls that_everyone_calls whom_we_call
  english: whom_they_call who_we_call whom_people_call whom_friends_call whom_all_call everyone_calls everybody_calls
  german: den_alle die_alle das_alle
  spanish: que_todos_llaman quien_todos_llaman que_llaman que_llamamos quien_llamamos
  portuguese: que_todos_chamam_de quem_todos_chamam_de que_todos_chamam quem_todos_chamam que_chamamos_de
  french: que_tout_le_monde_appelle que_tous_appellent quon_appelle
next clause
  english: and but while
  german: und aber
  spanish: y pero
  portuguese: e mas
  french: et mais
"""

_ROLES = """
  english: accountant actor advisor agent analyst apprentice architect assistant author bartender broker builder buyer captain
  english: carer caretaker chair chairman chairwoman chef cleaner clerk client conductor consultant contact contractor
  english: counsellor counselor curator customer dealer deputy designer developer director doctor driver editor engineer farmer
  english: owner founder gardener gp guide host inspector instructor intern investor janitor journalist keeper lawyer lodger
  english: manager mechanic mentor midwife minister nanny notary officer optician painter pastor pharmacist photographer physio
  english: physiotherapist pianist pilot porter postdoc president priest principal producer professor publisher rabbi
  english: receptionist recruiter rep reporter reviewer roofer secretary singer skipper solicitor specialist student
  english: superintendent supervisor surgeon tailor technician tenant trainee trainer translator treasurer vet veterinarian
  english: vicar violinist warden lead cofounder pediatrician paediatrician physician councillor
  german: anwalt anwaltin apotheker apothekerin architekt architektin berater beraterin erzieherin fahrer fahrerin friseurin
  german: gartner gartnerin hausarztin ingenieur ingenieurin kassenwart kassenwartin leiter leiterin makler maklerin mechaniker
  german: notar notarin pastorin pfarrer pfarrerin pfleger pflegerin psychologe psychologin steuerberaterin therapeut therapeutin
  german: tierarzt tierarztin trainer trainerin vorsitzende zahnarzt zahnarztin
  spanish: abogado abogada alcalde alcaldesa arquitecto arquitecta concejal concejala contable contratista directora enfermero
  spanish: enfermera entrenador entrenadora farmaceutico farmaceutica gerente ingeniero ingeniera mecanico notario peluquera
  spanish: pediatra psicologo psicologa
  portuguese: advogado advogada arquiteto arquiteta contador contadora diretor diretora enfermeiro enfermeira engenheiro
  portuguese: engenheira fisioterapeuta marceneiro orientador orientadora pedreiro porteiro sindico sindica treinador treinadora
  portuguese: veterinario veterinaria
"""
ROLES = frozenset(word for line in _ROLES.strip().split("\n") for word in line.partition(":")[2].split())
"""Words for what somebody does, which stand before a name."""

# Patterns over folded words that end an earlier definition, by language.
ENDINGS = {
    "english": (
        (
            r"(?<!\bthe )(?<!\bhis )(?<!\bher )(?<!\bmy )(?<!\ba )(?<!\bback )(?<!\bfront )(?<!\bupper )(?<!\blower )(?<!\bto )"
            r"(?:left|leaves)(?! (?:for \S+ for|an?|my|his|her|their|me|us|it|early|late|at)\b)"
            r"(?! the (?!(?:\w+ )?(?:company|firm|business|team|job|role|post|position|project|bank|board|band|choir|club|group"
            r"|party|school|university|practice|hospital|office|house|flat|city|town|country)\b))"
        ),
        r"quit|resigned|retires|retired|died|(?:was|were|been|got|be) put down(?! (?:by|for|as|in|on)\b)|passed away",
        r"stepp(?:ed|ing) down|steps down|is gone|is off",
        r"no longer (?:works? (?:at|for|here|with)|with|in use|used|exists?|available|supported|here)",
        (
            r"(?:was|is|got|has been|will be) (?:\w+ )?"
            r"(?:replaced|sold|closed|archived|deprecated|shut down|cancell?ed|discontinued)(?! (?:on|until|for|from)\b)"
        ),
    ),
    "german": (
        r"verl(?:asst|ie(?:ss|ß))|gekundigt|in rente|gestorben|verstorben|verkauft|arbeitet nicht mehr",
        r"abgesch(?:altet|afft)|abgelost|(?:tritt|trat)(?: \S+){0,4} zuruck|zuruckgetreten",
        r"geschlossen(?! (?:bis|am|an))",
    ),
    "spanish": (
        r"se jubil[ao]|dimit(?:e|io)|dejo|deja|ya no (?:trabaja|existe|esta con)|murio|fallecio|se vendio|cerro|se cerro",
    ),
    "portuguese": (
        r"saiu|deixou|aposentou|se aposenta|(?:ja )?nao (?:\S+ ){0,4}trabalha|nao .{1,40} mais|morreu|faleceu|foi vendid[oa]",
        r"fechou|pediu demissao|renunciou",
    ),
    "french": (
        r"est mort[es]?|est decedee?|a quitte(?! (?:la piece|la table)\b)|sest separee?|pris (?:sa|leur) retraite",
        r"est en retraite|a demissionne|ne travaille plus|a ferme|a ete (?:vendue?|remplacee?)",
    ),
    "italian": (r"est mort[oa]|ha lasciato|est in pensione|si est dimess[oa]",),
}
