"""Words that are mostly written in lower case: data only. One of them alone, capitalised, is not enough for a name.

Those among the 16,000 most frequent tokens of the o200k tokenizer (MIT licence) whose capitalised form is a less frequent token.
"""

from __future__ import annotations

_WORDS = """
ability able absol abstract academ academic accept access accident according account accounts action actions activ
active activities activity actual adapt adding addition additional address adjust admin administr adult advance
advanced advantage advent advert advertising advice advis affili agency agree agreement agus ahead ainda akan album
alert algo align aliment alla alle alleen alles alloc allow allowed allows almost alone alter altern alternative amaz
amount anal analysis andere android anim animal animals annual answers antes anti anywhere apart aplic appe applic
applicable application applications applied apply appreci appro approach appropriate apps arch architect area areas
aren args argument arguments array article articles artist aspect assert assess asset assign assist assistance associ
associated async attack attempt attend attention attr attribute attributes audience audio aussi auth author auto autom
automatically autor available avant average avoid await award away back background balance ball band bank base based
basic basis batch bath batter battery battle beach beaut beauty become becoming bedroom begin beginning behavior benef
benefit benefits bere besch beste better bien biggest bill billion binary birth black block blog blood blue board body
bond bonus book books bool boolean boost border born bott bottom bound brain branch brand break brief bright broad
browser budget buffer build builder building built burn business businesses busy button buying byte bytes cache cada
calcul callback calling calls camb camera camp campaign cancel cancer cannot capac capacity capital capt carbon card
cards care career carry cars cart casa case cases cash casino caso cast catch category cause cele celebr cell cells
cent center central centre century cert certain certainly chain chall challenge challenges champ chance chang change
changed changes changing channel char character characters charg charge charges chart chat cheap chem chemical child
children choice choices choose church circ cities city civil claim claims class classes classic clean cleaning clear
clearly click client clients clin clos close closed cloth cloud club coach code coff cold coll collabor collect
collection college color colors column columns comb combination combined comes comfort comfortable comm command comme
comment comments commercial commit common commun communication communities community como comp companies company
compar compare compared compat compet competition compl comple complete completed completely complex compliance
component components compr comput computer comun conc concentr concept concern cond condition conditions conduct conf
conference config configuration confirm conn connect connected connection cons conse conserv consider console const
constant constit constru construct construction constructor consult consum consumer cont contact container contains
content contents contin continu continue continued contr contra contract control controller conv conven convers
conversation convert cook cookies copy core corner corpor corre correct correspond cost costs coun count counter
countries country couple cour course courses court cout cover coverage covered craft cream creat create created
creating creation creative cred credit crit critical cross crow crusher crypt cuando cuenta cult cultural culture curr
current cursor custom customer customers cycle daar daily dalam damage danger dann dari dark dass data database datas
date dates dating dead deal deals death debug decide decision decisions decl declar decor dedicated deep default
define defined definit degree delay delete deliver delivered delivery demand demonstr dengan dent dentro depart depend
depending deposit depth dere desc describe description desde design designed designs dess dest destination destroy
detail detailed details detect determ determine deux develop developed developing development device devices deze
diagn dialog diam dict dies diese dieser diet difer diff differ difference different difficult digital dire direct
direction director directory disc discount discover discuss discussion dise disease dispatch display dispon dist
distance distr distributed distribution district divers diverse doctor document documents doesn doll domain domin donc
door doub double download draw dream dress drive driver driving drop drug dump dumpster durante duration durch dynamic
earlier early earn earth easily easy eating echo econom economic economy edge edit editor educ education eerste effect
effective effects efficient eigen einfach elect election electr electric eleg element elements elev elle eller else
email emerg employ employee employees empres empresa empty enable encontr encore encour energ energy engine enough
ensure enter entire entity entr entre entry enum environment equal equip equipment error errors escol escort especial
especially esper essay esse essential esta establish established estas estate este estr evalu event events evid
evidence exact exam example examples exchange exclus execut execute exerc exercise exhib exist existing exists exit
expand expect expected exper experience experienced experiences experiment expert experts expl explore export express
expression extension external extr extra extract extrem extremely eyes fabric face facil facilities fact factor
factors factory fail failed failure fair faire faith famil familiar families famous fans fant farm fashion fast favor
favorite fazer fear feature features federal feed feedback fees feet female fest fetch field fields fight figure file
filename files fill filled film filter final financ financial fine finish finished fire firm fish fixed flag flash
flat flex flight float floor flow focus folder follow following fond font food foot football force fore foreign forget
form forma format former forms fort forum forward foto frame free frequ fresh friendly front fruit fuel fuer full
fully func funcion function functions fund fundament funds furn furniture future gain game games garant garden gather
gebruik geen gener generally generate generated generation gere gesch gest gibt gift girls given gives giving glass
global goal goals goed gold goods gover govern government grad grade gradu gran grand grande graph grat gratis greater
green grid ground group groups grow growing growth grup guarante guard guest guests guid guide gust haar habe haben
habit hace hair half hand handle handler hands hang happ hard harm hasta haven head header headers health healthy
heart heat heavy heeft heel height held hele hell helpful helping helps hidden hier higher highest highlight highly
hist histor history hold holiday homes honest hospital host hotel hour hours html http huge hund hundred icon ideal
ideas ident identify ikke illustr imag images immediately immer impact impl implement implementation implements import
important impress impro improve incl include included includes including inclus income incorpor increase increased
increasing inde independ independent index indic individ individual individuals industr industrial industry infl influ
info inform information ingred ingredients init initi initial inline inner innov input insert insp inst install
installation installed instance instant instit instr instructions instrument insurance inte integr intended intent
inter interess interest interested interesting interface interior intern internal international internet interview
intr introdu invalid invest investig investment isso issue issues item items iter jaar java jest jobs joint jour
journal journey json jump kann keine keys kill kind kitchen knowledge kont label labor lack land lang language large
larger largest late latest launch laws layer layout lead leader leaders leading leads learning least leaves leaving
lect legal length less letter level levels library light limit limited line lines link links liqu list lista listed
listen liter little lives living load loaded loading loan local located location locations lock logger login logo
longer loop lors loss lots lower luck lugar maar mach machine machines magn mail main maint maintain maintenance mais
major majority makes male manage managed management manager mand manifest mant manual manufact margin mark market
marketing markets mask mass master match matches mater material materials matrix matter maximum mayor meaning measure
mechan media medic medical medium meer meeting mehr mejor melhor memb member members meng mens mensen ment mental
mention menu merc mere mesmo mess message messages meta metal method methods mich micro middle mijn miles military
mill million millions mind mini minimum minor minute minutes miss missing mission mist mobile mock mode model models
moder modern modify module moment monde money monitor mont mort mostly motiv motor mount mouse movement movie movies
moving muito mult multi multiple mundo music myst naar nada name named names namespace nation native natur natural
nature nearly neces necess necessary needs negative neighbor network news nicht niet nieuwe noch node nodes nombre
norm normal nost notice notre novel number numbers numer numerous nutr object objects objet oblig observ obtain occup
offer offered offering offers office official offset ohne older onder ones online onze open opening oper operating
operation operations operator opin opinion opportun opportunities opportunity optim option options order orders organ
organiz organization organizations orient origin original otros output overall override owner owners pack package pada
padding page pages pain paint pair pand panel paper param parameter parameters params pare parent parents parking
parse parser part parte partial particip particular particularly parties partner partners parts party pass passed
passion password path patient patients pattern payload payment pays peace pela pelo pens pent percent perform
performance period perm perman permission permissions permit pero pers personal personas pert peut phase phone phot
photograph phys physical pick piece pieces pill plac place placeholder places plans plant plants plastic plate
platform player players plenty plot pode poder point points poker polic police policies policy polit political poll
poly pool poor popular population porn porno porque port position positions positive poss possible post posted posts
potential pour power powerful pract practice practices prec precis pred prefer prem premi premier premium prepar
prepare prepared pres presence present presented press pressure prest pretty prev prevent previous previously price
prices prim primary prime primer princip principal print prior priv private prob proble problem problems proc proced
procedure proces process processes processing prod produ produce produced product production products profes
profession professional professionals profile profit program programs progress project projects projet prom promote
prompt prop proper properties property props pros prote protect protected protection proud prov provid provide
provided provider providers provides providing psych publ public published puede pull purch purchase pure purpose purs
push quality quant quarter quer query quest questions queue quick quickly quiet quite race radi radio rain rais raise
raised random range rank rapid rare rate rates rather rating reach reader readers ready real reality really reason
reasons rece receive received recent recipe recogn recommend recommended recon record records rect redirect redis
reduce refer reference reflect regard regarding region register registered registration regul regular reject related
relations relationship relationships relative relax release released relevant reli reliable relig remaining remote
remove removed rend render rental repair replace report reports represent request requests require required
requirements requires research reserv reserved reset resid residents resol resolve resource resources resp respect
respond respons response responsible rest restaur restaurant restr result results retail retr return returned returns
reve review reviews rich ride rights ring risk road rock role roll room rooms root round rout route router rows rule
rules running runs safe safety sale sales sample sand sang sans save saved scale scan scene sche schedule schon
schools science scient scope score scre screen script scroll search season seat seconds secret section sector secure
security seek seeking segment sehr sein select selected selection self sell selling sempre sender senior sens sense
separ separate serial series serious serv serve server service services session sets sett setting settings setup sever
sexual shape shift ship shipping shoot shop shopping shot showing shows side sign signal signed significant similar
simpl simple simply sing single sist sistema site sites situ situation size skills skin sleep slight slot slots slow
smaller smart smooth snow sobre social society socket soft software sold sole solid soll solo solution solutions song
songs sort source sources sous space speak spec special species specific spect speed spending spirit split sport
sports spot spread square stack staff stage stand standard standards star stars starting starts stat state statement
static station status steel step steps ster stick stim stock stone storage store stores stories story stra straight
strateg strategies strategy stream strength stress strict strong struct structure stud student students studies study
style styles subject submit subs success successful successfully suff sugar suggest suit suitable suite supp supply
support supported surface surg surround survey susp sust sustain switch symbol sympt systems table tail takes talent
tamb tanto target task tasks taste teach teacher teaching team teams tech techn technical techniques technologies
technology tegen tele temp temper temperature template tempo tempor temps tend tent term terms terr test testing tests
text theme therap thoughts thousands thread threat throw throws thus tidak tiempo tiene tijd till tipo tips title toda
todas todos together token tool tools topic topics torch total touch tough tour tous tout town trab trabal track trad
trade trading tradition traditional traffic trail train training trait trans transaction transfer transform transition
transport tras trat trav travel treat treatment tree trial trib trigger trip trop truck truly trust truth type types
typically uint undefined understand understanding unique unit units univers unser unter untuk updated updates upload
upper useful username users uses util vacc valid validate valor value values vari variable variables variety various
vast veel veget vehicle vend vent verb verd verify verk verm vers versch version vert verw vibr vict vida videos viel
view views vill viol virt virtual visible vision visitors visual voice void volt volume voor vote votre waar waiting
walking wall wants waren warm warranty waste watching water ways weak wear weather website websites wedding weight
weiter wenn werden werk white whole wide width wieder wild wind window wine winning wire woman women wonder wood word
words workers works worth writer writing written wrong yang yield young zelf zero zijn zone
"""

# Roles, treatments and directions that are no names: `her GP`, `vet said it is fine`, `Form 3 East`.
_ROLES = """
gp mri icu vet physio chemo babysitter nanny solicitor chiropractor kiddo uni
north south east west fourth fifth sixth seventh eighth ninth tenth
"""

# Words that notes about work, study and training begin with: `Incident: the API was down`, `App router migration is done`.
_NOTE_OPENERS = """
ablation ablations api app appendix breakfast call dashboards dataset datasets deadline deadlines deadlift deadlifts
deployment deployments dinner env escalation escalations exception exceptions hotfix incident incidents kickoff linter
lunch meetings migration migrations note notes outage outages physiotherapist plan question quote quotes rebuttal
renewals retries rollback rollbacks standup standups summary ticket tickets todo user warmup webhook webhooks
"""

COMMON_WORDS = frozenset((_WORDS + _ROLES + _NOTE_OPENERS).split())
