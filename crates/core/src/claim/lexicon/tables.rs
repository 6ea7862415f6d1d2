//! The tables of words, as plain text.

pub(super) const FILLERS: &str = "mr mrs ms a an the also just really very quite now currently still already presently so too then \
    please actually indeed even well today's simply fully exactly precisely always sometimes someone somebody \
    anyone anybody everyone everybody something anything everything yet anymore officially nowadays overall there \
    definitely certainly clearly truly totally completely entirely absolutely both either";

pub(super) const LINKS: &str = "of in on at for to with as about onto per than";
pub(super) const PREPOSITIONS: &str = "from against under above below behind inside outside between during by into via \
    towards toward near beside until since through across around without over";
pub(super) const CONJUNCTIONS: &str = "and or but because when where which who whose that while after_all so_that though \
    although however plus whereas";
pub(super) const FUNCTIONS: &str = "its it this these those can must should shall to's one's each such";
pub(super) const PRONOUNS: &str = "i you he she we they me him her us them my your his our their mine yours hers ours theirs \
    myself himself herself themselves yourself";
pub(super) const NEGATORS: &str = "not never nobody nothing neither nor nowhere none noone cannot +not";
pub(super) const HEDGES: &str = "if unless maybe perhaps possibly whether suppose supposedly hopefully wish \
    wishes hypothetically allegedly reportedly presumably potentially imagine";
pub(super) const MODALS: &str = "might could would";
pub(super) const PARTIALS: &str = "some several many few certain partly various most another other others";

/// A colon after a few words says what they are.
pub(super) const BE_PRESENT: &str = "is are am be being :";
pub(super) const BE_PAST: &str = "was were";

/// Words that mean the same here, the first standing for all.
pub(super) const SAME: &[&str] = &[
    "in located situated",
    "live reside dwell",
    "work employed",
    "begin start commence",
    "finish end conclude",
    "big large",
    "buy purchase",
    "kid child children",
    "cost price priced",
    "favorite favourite",
    "color colour",
    "photo picture pic photograph",
    "doctor physician",
    "job occupation profession",
    "phone telephone",
    "email e-mail mail",
    "car automobile",
    "movie film",
    "quick fast rapid",
    "company firm",
    "flat apartment",
    "mother mom mum",
    "father dad",
    "allow permit",
    "forbid prohibit ban disallow",
    "help assist aid",
    "require need",
    "database db",
    "repository repo",
    "application app",
    "configuration config",
    "production prod",
    "ceo chief-executive",
    "maximum max",
    "minimum min",
    "total overall",
    "fix repair",
    "choose select pick",
    "holiday vacation",
    "bike bicycle",
    "wage salary",
    "sick ill",
    "reply respond answer",
    "error failure",
    "send dispatch",
    "use utilize utilise",
    "centre center",
    "organise organize",
];

/// Opposites: the two sides apart by a bar.
pub(super) const AXES: &[&str] = &[
    "+on|+off",
    "+up|+down",
    "+in|+out",
    "open opened|closed close shut",
    "enable enabled activate activated|disable disabled deactivate deactivated",
    "active|inactive idle dormant",
    "alive living|dead deceased",
    "like love enjoy adore likes loves enjoys fond prefer|hate dislike detest loathe despise hates dislikes",
    "accept accepted approve approved|reject rejected decline declined refuse refused deny denied",
    "pass passed succeed succeeded|fail failed",
    "win won|lose lost",
    "increase increased rise rose risen grow grew|decrease decreased fell fallen drop dropped shrink shrank decline",
    "true correct right accurate|false incorrect wrong inaccurate",
    "safe secure|unsafe dangerous insecure hazardous",
    "public|private",
    "allow allowed permit permitted legal lawful|forbid forbidden prohibit prohibited illegal unlawful banned ban",
    "easy simple|difficult hard complicated",
    "healthy|sick ill unhealthy unwell",
    "present attending|absent",
    "full|empty",
    "cheap inexpensive affordable|expensive costly pricey",
    "early|late",
    "young|old elderly",
    "strong|weak",
    "fast quick rapid|slow sluggish",
    "hot warm|cold cool chilly",
    "wet|dry",
    "clean|dirty filthy",
    "rich wealthy|poor",
    "success successful|failure unsuccessful",
    "guilty|innocent",
    "online|offline",
    "available|unavailable",
    "valid|invalid",
    "possible|impossible",
    "complete completed finished done|incomplete unfinished pending",
    "connect connected|disconnect disconnected",
    "encrypted|unencrypted plaintext",
    "mandatory required compulsory obligatory|optional voluntary",
    "internal|external",
    "include included including|exclude excluded excluding",
    "major|minor",
    "positive|negative",
    "stable|unstable",
    "visible shown|hidden invisible",
    "lock locked|unlock unlocked",
    "profit profitable|loss unprofitable",
    "happy glad pleased|sad unhappy miserable",
    "satisfied content|dissatisfied discontent",
    "support supports|oppose opposes",
    "agree agrees agreed|disagree disagrees disagreed",
    "trust trusts|distrust mistrust distrusts",
    "remember remembers remembered|forget forgets forgot forgotten",
    "before|after",
    "above|below beneath",
    "inside indoors|outside outdoors",
    "left-hand|right-hand",
    "northern north|southern south",
    "eastern east|western west",
    "best|worst",
    "better|worse",
    "more|less fewer",
    "higher greater larger bigger|lower smaller",
    "maximum|minimum",
    "taller|shorter",
    "older elder|younger",
    "faster quicker|slower",
    "first|last",
    "often frequently usually regularly|rarely seldom hardly",
    "permanent|temporary",
    "manual manually|automatic automated automatically",
    "synchronous synchronously|asynchronous asynchronously async",
    "mutable|immutable",
    "deprecated|supported maintained",
    "free|paid",
    "employed|unemployed jobless",
    "smoker|non-smoker nonsmoker",
    "introvert introverted|extrovert extroverted",
    "male man|female woman",
    "confirm confirmed|cancel cancelled canceled",
    "appear appeared|disappear disappeared vanish vanished",
    "hire hired|fire fired dismissed sacked",
    "malignant|benign",
    "solvent|insolvent bankrupt",
    "sober|drunk",
    "asleep|awake",
    "vulnerable|invulnerable patched",
    "compatible|incompatible",
    "tolerant|intolerant",
    "running runs|stopped halted",
    "buyer|seller",
    "lend lent|borrow borrowed",
    "attach attached|detach detached",
    "install installed|uninstall uninstalled",
    "mount mounted|unmount unmounted",
    "add added|remove removed delete deleted",
    "optimistic|pessimistic",
    "friendly|hostile unfriendly",
    "loud noisy|quiet silent",
    "heavy|light lightweight",
    "tall|short",
    "deep|shallow",
    "wide broad|narrow",
    "thick|thin",
    "sweet|bitter sour",
    "binding|nonbinding non-binding",
    "exempt|taxable",
    "ahead|behind",
    "bullish|bearish",
    "improve improved improving|worsen worsened worsening deteriorate deteriorated",
    "calm relaxed|anxious nervous stressed",
    "confident|insecure_self unsure",
    "excited thrilled|bored unexcited",
    "inspiring motivating uplifting|discouraging demotivating uninspiring",
    "kept keep|abandon abandoned",
    "proud|ashamed",
    "rewarding fulfilling|pointless",
    "peaceful|chaotic stressful",
    "beautiful gorgeous|ugly",
    "useful|useless",
    "important significant|irrelevant insignificant",
    "delicious tasty|disgusting awful",
    "fun entertaining|boring dull tedious",
    "great wonderful amazing awesome excellent fantastic|terrible horrible dreadful",
];

/// States of which one holds at a time: at most eight a line, the bits that a token has.
pub(super) const STATES: &[&str] = &[
    "married|single unmarried|divorced|widowed|engaged",
    "vegan|vegetarian|+meat carnivore omnivore",
    "red|green|blue|yellow|orange|brown|black|white",
    "left-handed|right-handed",
    "monthly|weekly|daily|yearly annually annual|hourly|quarterly",
    "draft|published|archived",
    "todo|in-progress|blocked|done-state",
    "beginner|intermediate|advanced expert",
    "republican|democrat",
    "atheist|christian catholic protestant|muslim|jewish|hindu|buddhist",
    "small|medium-sized|big",
    "diesel|petrol gasoline|electric|hybrid",
];

/// Starts and ends of one thing: family by family.
pub(super) const ORDERS: &[&str] = &[
    "begin start starts started commence launch kickoff starts_at|finish end ends ended conclude conclude ends_at",
    "bear birth|die died death",
    "issued effective|expire expires expired expiry expiration",
    "depart departs departed leaves|arrive arrives arrived lands landed",
    "joined hired|resigned retired quit",
    "check-in checkin|check-out checkout",
    "created founded established|dissolved deleted shut-down",
    "submitted|approved-on",
];

/// Phrases and the word that stands for them.
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("no longer", "+not"),
    ("not any longer", "+not"),
    ("not only", "also"),
    ("not just", "also"),
    ("no doubt", "indeed"),
    ("no one", "nobody"),
    ("no more than", "+most"),
    ("not more than", "+most"),
    ("no less than", "+least"),
    ("at least", "+least"),
    ("more than", "+least"),
    ("greater than", "+least"),
    ("at most", "+most"),
    ("up to", "+most"),
    ("less than", "+below"),
    ("fewer than", "+below"),
    ("failed to", "+not"),
    ("fails to", "+not"),
    ("fail to", "+not"),
    ("refuses to", "+not"),
    ("refused to", "+not"),
    ("unable to", "+not"),
    ("lack of", "+no"),
    ("free of", "+no"),
    ("anything but", "+not"),
    ("used to", "+past"),
    ("not yet", "+not"),
    ("turned on", "+on"),
    ("turned off", "+off"),
    ("switched on", "+on"),
    ("switched off", "+off"),
    ("powered on", "+on"),
    ("powered off", "+off"),
    ("shut down", "+down"),
    ("up and running", "+up"),
    ("eats meat", "+meat"),
    ("eat meat", "+meat"),
    ("in stock", "+in"),
    ("out of stock", "+out"),
    ("sold out", "+out"),
    ("in favor of", "support"),
    ("in favour of", "support"),
    ("is fond of", "like"),
    ("fond of", "like"),
    ("is able to", "can"),
    ("has to", "must"),
    ("have to", "must"),
    ("in order to", "to"),
    ("as well", "also"),
    ("as well as", "and"),
    ("a lot", "very"),
    ("lots of", "many"),
    ("a number of", "several"),
    ("a few", "few"),
    ("going to", "will"),
    ("such as", "like_as"),
    ("new york city", "nyc"),
    ("new york", "nyc"),
    ("united states", "usa"),
    ("united kingdom", "uk"),
    ("chief executive", "ceo"),
    ("at the moment", "now"),
    ("right now", "now"),
    ("at present", "now"),
    ("these days", "now"),
    ("for now", "now"),
    ("per cent", "percent"),
    ("square meters", "sqm"),
    ("square metres", "sqm"),
    ("square feet", "sqft"),
    ("kicked off", "started"),
    ("kicks off", "starts"),
    ("passed away", "died"),
    ("goes live", "launch"),
    ("set to", "is"),
    ("at all", "also"),
    ("any more", "also"),
    ("by heart", "also"),
    ("of course", "also"),
    ("would like", "+hedge"),
    ("as of", "since"),
    ("on time", "punctual"),
    ("behind schedule", "late"),
    ("ahead of schedule", "early"),
    ("on schedule", "punctual"),
    ("gave up", "+not"),
    ("given up", "+not"),
];

/// Verbs of things that happen again and again: another time is another event.
pub(super) const EVENTS: &str = "go buy eat see visit run watch play meet win attend travel order call send receive take make \
    cook read pay donate sell spend bring hike swim drink talk host celebrate write paint deploy restart crash log \
    record report commit merge push pull measure scan test score drive fly walk ride cycle jog climb finish complete \
    start get give find lose try share enjoy hold say tell ask mention reply speak post upload download ship deliver \
    process handle fix close open add remove bake catch shoot photograph book rent order transfer withdraw deposit \
    invoice participate volunteer join learn help perform organize create build do have experience encounter \
    treat inject vaccinate prescribe examine fail pass back miss reach earn raise receive refund approve reject";

/// Words of things that have one date.
pub(super) const DATED: &str = "bear birth birthday die death deadline due expire expiry expiration end begin start finish \
    launch release found establish schedule wedding marry anniversary appointment depart arrive graduate retire sign \
    construct publish invent discover founded signed interview exam surgery hearing trial election conference \
    meeting kickoff closing move join hire since renewal renew effective demo review closes opens flight checkup \
    delivery birthdate build concert party ceremony audit migration cutover maturity mature premiere festival workshop \
    invent premier incorporate built-in adopt abolish ratify constructed completion open close leave";

/// Verbs that open a place for one value.
pub(super) const SLOTS: &[(&str, &[&str])] = &[
    ("live", &["in", "at", "on"]),
    ("work", &["at", "for", "as"]),
    ("report", &["to"]),
    ("belong", &["to"]),
    ("bear", &["in", "at"]),
    ("base", &["in"]),
    ("in", &["in", "at", "on"]),
    ("marry", &["to"]),
    ("write", &["in", "by"]),
    ("host", &["on", "in", "at", "by"]),
    ("deploy", &["to", "on", "in"]),
    ("store", &["in", "on"]),
    ("study", &["at"]),
    ("assign", &["to"]),
    ("own", &["by"]),
    ("lead", &["by"]),
    ("manage", &["by"]),
    ("maintain", &["by"]),
    ("run", &["on"]),
    ("name", &[""]),
    ("prefer", &[""]),
    ("headquarter", &["in"]),
    ("major", &["in"]),
    ("grow", &["in"]),
    ("stay", &["at", "in"]),
    ("locate", &["in", "at", "on"]),
    ("situate", &["in", "at", "on"]),
    ("direct", &["by"]),
    ("paint", &["by"]),
    ("invent", &["by"]),
    ("teach", &["at"]),
    ("enroll", &["at", "in"]),
    ("default", &["to"]),
];

/// Nouns that have one value of any sort; also predicates of triples.
pub(super) const FUNCTIONAL: &str = "code id label path capital name port status state version language currency timezone region address email \
    password favorite favourite default color colour height weight size birthday birthdate birthplace nationality deadline location \
    hostname domain url license priority severity mode level gender sex species blood-type salary rent cost title \
    seat room gate terminal carrier isbn ssn iban bic vat postcode zip phone hometown residence headquarters \
    engine framework platform os environment protocol format encoding codename nickname surname model budget \
    plan tier grade rank diagnosis dose dosage breed branch";

/// Nouns whose one value is a person or another name.
pub(super) const NAMED: &str = "ceo cto cfo owner manager author president leader boss lead maintainer chairman chairperson \
    director founder spouse husband wife mother father supervisor mentor doctor dentist landlord assignee \
    reviewer sponsor captain coach principal mayor chancellor king queen employer bank insurer vendor supplier \
    database broker successor predecessor winner gp accountant lawyer solicitor therapist paediatrician pediatrician \
    physiotherapist optician vet notary nanny midwife hairdresser";

/// Verbs whose past does not end in -ed.
pub(super) const IRREGULAR: &str = "went:go gone:go bought:buy ate:eat eaten:eat saw:see seen:see ran:run met:meet won:win \
    lost:lose took:take taken:take made:make paid:pay sold:sell spent:spend brought:bring swam:swim swum:swim \
    drank:drink drunk:drink told:tell said:say held:hold wrote:write written:write got:get gotten:get gave:give \
    given:give found:find drove:drive driven:drive flew:fly flown:fly rode:ride ridden:ride began:begin begun:begin \
    came:come become:become became:become knew:know known:know thought:think felt:feel kept:keep left:leave \
    taught:teach caught:catch built:build sent:send slept:sleep stood:stand understood:understand heard:hear \
    led:lead read:read put:put cut:cut set:set hit:hit shot:shoot sang:sing sung:sing spoke:speak spoken:speak \
    broke:break broken:break chose:choose chosen:choose drew:draw drawn:draw fell:fall fallen:fall forgot:forget \
    forgotten:forget grew:grow grown:grow hid:hide hidden:hide rose:rise risen:rise shook:shake stole:steal \
    stolen:steal threw:throw thrown:throw wore:wear worn:wear woke:wake born:bear died:die meant:mean \
    dealt:deal bent:bend lent:lend fed:feed bled:bleed fought:fight sought:seek sat:sit dug:dig stuck:stick \
    struck:strike hung:hang swung:swing rang:ring sank:sink shrank:shrink sprang:spring tore:tear bore:bear \
    swore:swear froze:freeze frozen:freeze beat:beat beaten:beat bit:bite bitten:bite blew:blow blown:blow \
    lay:lie laid:lay quit:quit hurt:hurt shut:shut spread:spread split:split cost:cost burnt:burn learnt:learn \
    people:person men:man women:woman wives:wife lives:live teeth:tooth feet:foot mice:mouse children:child \
    married:marry marries:marry dying:die lying:lie tying:tie leaves:leave";

/// Verbs of the table above whose form is no past.
pub(super) const NOT_PAST: &str = "read put cut set hit shut quit hurt spread split cost beat people men women wives lives teeth \
    feet mice children married marries dying lying tying leaves become";

/// Words in un- that are no denial.
pub(super) const UN_WORDS: &str = "under until unit unite union unique unless uncle universe university universal uniform \
    understand understands understanding underwent undergo underground understood undertake undertook unanimous \
    unicorn unison undo unix unity united units unveil unveiled unfold unfolds unlock unlocked unload unpack \
    uninstall uninstalled unmount unmounted unemployed underlying unions uncles universities unicef";

/// Nouns that a number after them names: another number is another thing.
pub(super) const NUMBERED: &str = "room ticket invoice clause sprint chapter section article page line issue order case exhibit \
    figure table step phase stage question item build job run node server host rack track lot district route highway class \
    season episode volume part test bus apartment game level lane task story unit flight bug pr mr rfc adr customer client \
    user topic account acct cust programme program employee patient sample batch shard worker pod replica device sensor machine printer desk gate \
    platform zone group cohort week day iteration epoch attempt round release commit problem exercise lesson module \
    slide experiment trial participant subject camera warehouse store aisle bin shelf locker slot seat record row column \
    entry message log alert incident contract policy claim receipt payment transaction shipment package parcel container \
    truck train tram dock house building block tower bed ward cell site plot pump valve tank motor meter circuit channel \
    cluster partition queue thread process milestone epic option variant candidate applicant student lap rep note fact \
    document file form field scenario requirement rule request response session call visit order_number member tenant \
    project team squad agent vehicle car van robot drone line_number zone probe thermostat panel turbine boiler furnace \
    reactor conveyor scanner kiosk terminal register drawer box crate pallet bag bottle tube vial plate well slice photo \
    image video clip track song verse act scene match heat bay berth cabin suite villa hut tent stall booth stand number \
    quarter chunk tile frame layer pass checkpoint snapshot backup index";

/// What happens once and stays so: another time told of it is a contradiction, whenever it is told.
pub(super) const ONCE: &str = "bear birth birthday birthdate birthplace die death found founder establish invent construct \
    incorporate originate compose author publish discover graduate";

/// What is measured and changes by itself: each value is one of its moment.
pub(super) const MEASURED: &str = "thermometer thermostat sensor gauge barometer scale odometer counter temperature usage utilisation utilization load latency throughput depth lag weight weigh pulse \
    glucose humidity traffic step calorie backlog visitor follower balance uptime downtime consumption reading read measure \
    bpm mood occupancy pressure saturation heartrate co2 ppm queue show display battery revenue inventory stock score lead_time speed voltage current_draw \
    level spend spending sales signup conversion churn attendance turnout rainfall queue_length duration runtime heap";

/// What is set, even beside a word of the table above: a limit, a target.
pub(super) const LIMITS: &str = "limit target setpoint threshold maximum minimum max min cap capacity budget quota allowance timeout \
    default setting set configure allow limited goal policy sla slo alert alarm must should ceiling maximum entitlement";

/// Opposites that tell which, before a noun: the north wall is not the south wall.
pub(super) const WHICH: &str = "northern north southern south eastern east western west first last internal external inside \
    outside";

/// What happens again and again says so.
pub(super) const PERIODIC: &str =
    "daily nightly weekly monthly hourly yearly quarterly every each again another";

pub(super) const SPEECH: &str = "say tell claim write ask reply shout whisper quote announce state insist";

/// Before a noun, they tell another one of the kind than the noun alone.
pub(super) const QUALIFIERS: &str = "other another second third fourth deputy vice assistant backup back-up substitute stand-in \
    standby interim acting former previous ex honorary alternate alternative emergency reserve secondary tertiary \
    auxiliary fallback associate junior trainee temporary twin shadow";

/// Behind a noun, they name what it is limited to.
pub(super) const RESERVES: &str = "limit quota request reservation";
