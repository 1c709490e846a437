"""Nouns that stand beside a theme and say how it is meant: data only."""

from __future__ import annotations

# What people do or have for a theme, or for whom: `a pottery class`, and not `the museum bus`.
_DOINGS = """
class course lesson session training practice practise workshop seminar lecture school studio club group team band choir society
brigade league community circle meetup meeting camp retreat trip tour ride race run walk hike swim match game tournament
competition championship contest cup final season festival event day night evening weekend week month year morning afternoon
holiday break party show concert recital performance exhibition exam test grade degree certificate project piece work job career
hobby skill habit routine plan program programme goal dream lover fan enthusiast teacher instructor tutor coach trainer student
pupil partner buddy friend conductor director rehearsal audition audience gear kit board wheel boot shoe bike boat set table
field court pool room kitchen garden store shop stall fair market machine recipe dish cake bread soup bar cellar tasting harvest
photo picture painting print video film album song book story collection collector library museum centre center shelter visit
stay ticket booking reservation appointment checkup treatment therapy surgery operation exercise injury ring dress venue
reception ceremony vow date budget anniversary present gift pageant parade service mass rate payment deposit loan offer bill
account costs term application policy exchange together again yesterday today tomorrow twice once alone early late daily weekly
outside indoors there here too instead regularly online last next reason tonight anymore anyway nearby upstairs downstairs
afterwards sometimes abroad overnight myself yourself himself herself themselves somewhere everywhere now soon ever yet already
back home
"""
DOINGS = frozenset(_DOINGS.split())
