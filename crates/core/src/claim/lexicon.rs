//! What single words mean to the comparison: which say nothing, which deny, which are opposites, which are the same.
//!
//! The tables are written for statements as people and agents note them in English. A word that is in no table is a
//! content word and stands for itself.

use crate::text;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a word does in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Says nothing of its own.
    Function,
    /// Says nothing at all, not even to a topic.
    Filler,
    /// Denies.
    Negator,
    /// "No" before a noun: none of it.
    No,
    /// Makes a statement a guess, a wish or a condition.
    Hedge,
    /// Makes the verb after it a guess.
    Modal,
    /// A form of "be", by tense.
    Be(Tense),
    /// "has", "had", "does", "will": gives the tense and little else.
    Aux(Tense),
    /// "have" as a verb or as an auxiliary.
    Have(Tense),
    /// One side of a pair of opposites.
    Axis { axis: u16, side: u8 },
    /// One of several states that exclude each other.
    State { set: u16, side: u8 },
    /// The start or the end of something.
    Order { family: u16, end: bool },
    /// Some, several, many: says nothing of the others.
    Partial,
    /// Bounds the number after it.
    Bound(Bound),
    /// A preposition that tells two statements apart.
    Preposition,
    /// A preposition or conjunction that ends a phrase and says little.
    Link,
    /// "and", "or", "which": ends a phrase.
    Conjunction,
    /// Stands for a person.
    Pronoun,
}

/// When, as far as a verb shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tense {
    Present,
    Past,
    Perfect,
    Future,
}

/// How a number is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    AtLeast,
    Below,
    AtMost,
    About,
}

/// What a verb or noun opens: a place for one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    /// A verb and the prepositions after which its one value stands.
    After(&'static [&'static str]),
    /// A noun that has one value, whatever it is.
    Any,
    /// A noun whose one value is a name.
    Name,
}

const FILLERS: &str = "mr mrs ms a an the also just really very quite now currently still already presently so too then \
    please actually indeed even well today's simply fully exactly precisely always sometimes someone somebody \
    anyone anybody everyone everybody something anything everything yet anymore officially nowadays overall there \
    definitely certainly clearly truly totally completely entirely absolutely both either";

const LINKS: &str = "of in on at for to with as about onto per than";
const PREPOSITIONS: &str = "from against under above below behind inside outside between during by into via \
    towards toward near beside until since through across around without over";
const CONJUNCTIONS: &str = "and or but because when where which who whose that while after_all so_that though \
    although however plus whereas";
const FUNCTIONS: &str = "its it this these those can must should shall to's one's each such";
const PRONOUNS: &str = "i you he she we they me him her us them my your his our their mine yours hers ours theirs \
    myself himself herself themselves yourself";
const NEGATORS: &str = "not never nobody nothing neither nor nowhere none noone cannot +not";
const HEDGES: &str = "if unless maybe perhaps possibly whether suppose supposedly hopefully wish \
    wishes hypothetically allegedly reportedly presumably potentially imagine";
const MODALS: &str = "might could would";
const PARTIALS: &str = "some several many few certain partly various most another other others";

/// A colon after a few words says what they are.
const BE_PRESENT: &str = "is are am be being :";
const BE_PAST: &str = "was were";

/// Words that mean the same here, the first standing for all.
const SAME: &[&str] = &[
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
    "name called named",
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
const AXES: &[&str] = &[
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
const STATES: &[&str] = &[
    "married|single unmarried|divorced|widowed|engaged",
    "vegan|vegetarian|+meat carnivore omnivore",
    "red|green|blue|yellow|orange|brown|black|white",
    "left-handed|right-handed",
    "morning|evening|afternoon|night",
    "spring|summer|autumn|winter",
    "breakfast|lunch|dinner",
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
const ORDERS: &[&str] = &[
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
const PHRASES: &[(&str, &str)] = &[
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
const EVENTS: &str = "go buy eat see visit run watch play meet win attend travel order call send receive take make \
    cook read pay donate sell spend bring hike swim drink talk host celebrate write paint deploy restart crash log \
    record report commit merge push pull measure scan test score drive fly walk ride cycle jog climb finish complete \
    start get give find lose try share enjoy hold say tell ask mention reply speak post upload download ship deliver \
    process handle fix close open add remove bake catch shoot photograph book rent order transfer withdraw deposit \
    invoice participate volunteer join learn help perform organize create build do have experience encounter \
    treat inject vaccinate prescribe examine fail pass back miss reach earn raise receive refund approve reject";

/// Words of things that have one date.
const DATED: &str = "bear birth birthday die death deadline due expire expiry expiration end begin start finish \
    launch release found establish schedule wedding marry anniversary appointment depart arrive graduate retire sign \
    construct publish invent discover founded signed interview exam surgery hearing trial election conference \
    meeting kickoff closing move join hire since renewal renew effective demo review closes opens flight checkup \
    delivery birthdate build concert party ceremony audit migration cutover maturity mature premiere festival workshop \
    invent premier incorporate built-in adopt abolish ratify constructed completion open close leave";

/// Verbs that open a place for one value.
const SLOTS: &[(&str, &[&str])] = &[
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
const FUNCTIONAL: &str = "capital name port status state version language currency timezone region address email \
    password favorite favourite default color colour height weight size birthday birthdate birthplace nationality deadline location \
    hostname domain url license priority severity mode level gender sex species blood-type salary rent cost title \
    seat room gate terminal carrier isbn ssn iban bic vat postcode zip phone hometown residence headquarters \
    engine framework platform os environment protocol format encoding codename nickname surname model budget \
    plan tier grade rank diagnosis dose dosage breed branch";

/// Nouns whose one value is a person or another name.
const NAMED: &str = "ceo cto cfo owner manager author president leader boss lead maintainer chairman chairperson \
    director founder spouse husband wife mother father supervisor mentor doctor dentist landlord assignee \
    reviewer sponsor captain coach principal mayor chancellor king queen employer bank insurer vendor supplier \
    database broker successor predecessor winner";

/// Verbs whose past does not end in -ed.
const IRREGULAR: &str = "went:go gone:go bought:buy ate:eat eaten:eat saw:see seen:see ran:run met:meet won:win \
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
const NOT_PAST: &str = "read put cut set hit shut quit hurt spread split cost beat people men women wives lives teeth \
    feet mice children married marries dying lying tying leaves become";

/// Words in un- that are no denial.
const UN_WORDS: &str = "under until unit unite union unique unless uncle universe university universal uniform \
    understand understands understanding underwent undergo underground understood undertake undertook unanimous \
    unicorn unison undo unix unity united units unveil unveiled unfold unfolds unlock unlocked unload unpack \
    uninstall uninstalled unmount unmounted unemployed underlying unions uncles universities unicef";

/// Nouns that a number after them names: another number is another thing.
const NUMBERED: &str = "room ticket invoice clause sprint chapter section article page line issue order case exhibit \
    figure table step phase stage question item build job run node server host rack district route highway class \
    season episode volume part test bus track lot apartment game level lane task story unit flight bug pr rfc";

/// Opposites that tell which, before a noun: the north wall is not the south wall.
const WHICH: &str = "northern north southern south eastern east western west first last internal external inside \
    outside";

/// What happens again and again says so.
const PERIODIC: &str = "daily nightly weekly monthly hourly yearly quarterly every each again another";

const SPEECH: &str = "say tell claim write ask reply shout whisper quote announce state insist";

/// The tables, by word and by stem.
pub(super) struct Lexicon {
    surface: HashMap<&'static str, Role>,
    stems: HashMap<String, Role>,
    same: HashMap<String, String>,
    irregular: HashMap<&'static str, (&'static str, bool)>,
    phrases: HashMap<&'static str, Vec<(Vec<&'static str>, &'static str)>>,
    events: HashMap<String, ()>,
    dated: HashMap<String, ()>,
    speech: HashMap<String, ()>,
    opens: HashMap<String, Opens>,
    nouns: HashMap<&'static str, Opens>,
    un_words: HashMap<&'static str, ()>,
    numbered: HashMap<String, ()>,
    periodic: HashMap<&'static str, ()>,
    which: HashMap<&'static str, ()>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::build);

/// The one lexicon.
pub(super) fn lexicon() -> &'static Lexicon {
    &LEXICON
}

/// The token hash of the opposites that a word belongs to; 0 if it belongs to none.
pub(super) fn axis_of(word: &str) -> u32 {
    match lexicon().of_stem(&stem(word)) {
        Some(Role::Axis { axis, .. }) => super::hash24(&format!("axis{axis}")),
        _ => 0,
    }
}

fn stem(word: &str) -> String {
    // Marked words and words with dashes are their own stem.
    if word.starts_with('+') || word.contains(['-', '_']) {
        return word.to_owned();
    }
    text::words(word).into_iter().next().unwrap_or_else(|| word.to_owned())
}

fn stem_set(words: &'static str) -> HashMap<String, ()> {
    words.split_whitespace().map(|word| (stem(word), ())).collect()
}

impl Lexicon {
    fn build() -> Self {
        let mut lexicon = Self {
            surface: surface(),
            stems: HashMap::new(),
            same: HashMap::new(),
            irregular: irregular(),
            phrases: HashMap::new(),
            events: stem_set(EVENTS),
            dated: stem_set(DATED),
            speech: stem_set(SPEECH),
            opens: opens(),
            nouns: nouns(),
            un_words: UN_WORDS.split_whitespace().map(|word| (word, ())).collect(),
            numbered: stem_set(NUMBERED),
            periodic: PERIODIC.split_whitespace().map(|word| (word, ())).collect(),
            which: WHICH.split_whitespace().map(|word| (word, ())).collect(),
        };
        lexicon.add_same();
        lexicon.add_opposites();
        for (phrase, word) in PHRASES {
            let mut words = phrase.split_whitespace();
            if let Some(first) = words.next() {
                lexicon.phrases.entry(first).or_default().push((words.collect(), word));
            }
        }
        lexicon
            .phrases
            .values_mut()
            .for_each(|known| known.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len())));
        lexicon
    }

    fn add_same(&mut self) {
        for group in SAME {
            let mut words = group.split_whitespace();
            let first = words.next().map(stem).unwrap_or_default();
            for word in words {
                self.same.entry(stem(word)).or_insert_with(|| first.clone());
            }
        }
    }

    fn add_opposites(&mut self) {
        for (axis, sides) in (0u16..).zip(AXES) {
            self.add_sides(sides, |side| Role::Axis { axis, side });
        }
        for (set, sides) in (0u16..).zip(STATES) {
            self.add_sides(sides, |side| Role::State { set, side });
        }
        for (family, sides) in (0u16..).zip(ORDERS) {
            self.add_sides(sides, |side| Role::Order { family, end: side == 1 });
        }
    }

    /// What stands earlier in a table wins: a word has one meaning here.
    fn add_sides(&mut self, sides: &'static str, role: impl Fn(u8) -> Role) {
        for (side, words) in (0u8..).zip(sides.split('|')) {
            for word in words.split_whitespace() {
                if word.starts_with('+') {
                    self.surface.insert(word, role(side));
                } else {
                    self.stems.entry(stem(word)).or_insert_with(|| role(side));
                }
            }
        }
    }

    /// The role of a word as it is written, if a table knows it.
    pub(super) fn surface(&self, word: &str) -> Option<Role> {
        self.surface.get(word).copied()
    }

    /// The role of a stem, if a table knows it.
    pub(super) fn of_stem(&self, stem: &str) -> Option<Role> {
        self.stems.get(stem).copied()
    }

    /// The stem that stands for all that mean the same.
    pub(super) fn same<'a>(&'a self, stem: &'a str) -> &'a str {
        self.same.get(stem).map_or(stem, String::as_str)
    }

    /// The plain form of an irregular one, and whether it is a past.
    pub(super) fn irregular(&self, word: &str) -> Option<(&'static str, bool)> {
        self.irregular.get(word).copied()
    }

    /// The word that stands for the phrase that begins here, and how many words the phrase has.
    pub(super) fn phrase(
        &self,
        first: &str,
        mut at: impl FnMut(usize) -> Option<String>,
    ) -> Option<(&'static str, usize)> {
        let known = self.phrases.get(first)?;
        let matches = |rest: &Vec<&str>, at: &mut dyn FnMut(usize) -> Option<String>| {
            rest.iter().enumerate().all(|(i, word)| at(i + 1).as_deref() == Some(*word))
        };
        known.iter().find(|(rest, _)| matches(rest, &mut at)).map(|(rest, word)| (*word, rest.len() + 1))
    }

    pub(super) fn is_event(&self, stem: &str) -> bool {
        self.events.contains_key(stem)
    }

    pub(super) fn is_dated(&self, stem: &str) -> bool {
        self.dated.contains_key(stem)
    }

    pub(super) fn is_speech(&self, stem: &str) -> bool {
        self.speech.contains_key(stem)
    }

    pub(super) fn is_numbered(&self, stem: &str) -> bool {
        self.numbered.contains_key(stem)
    }

    pub(super) fn is_periodic(&self, word: &str) -> bool {
        self.periodic.contains_key(word)
    }

    pub(super) fn tells_which(&self, word: &str) -> bool {
        self.which.contains_key(word)
    }

    /// What a verb opens, by its stem.
    pub(super) fn opens(&self, stem: &str) -> Option<Opens> {
        self.opens.get(stem).copied()
    }

    /// What a noun opens, as it is written: "review" and "reviewer" share a stem and no more.
    pub(super) fn noun(&self, word: &str) -> Option<Opens> {
        self.nouns.get(word).copied()
    }

    /// The rest of a word that un- denies.
    pub(super) fn denied<'a>(&self, word: &'a str) -> Option<&'a str> {
        let rest = word.strip_prefix("un").or_else(|| word.strip_prefix("non-"))?;
        (rest.len() >= 4 && !self.un_words.contains_key(word)).then_some(rest)
    }
}

fn surface() -> HashMap<&'static str, Role> {
    let mut map = HashMap::new();
    let lists = [
        (FILLERS, Role::Filler),
        (LINKS, Role::Link),
        (PREPOSITIONS, Role::Preposition),
        (CONJUNCTIONS, Role::Conjunction),
        (FUNCTIONS, Role::Function),
        (PRONOUNS, Role::Pronoun),
        (NEGATORS, Role::Negator),
        (HEDGES, Role::Hedge),
        (MODALS, Role::Modal),
        (PARTIALS, Role::Partial),
        (BE_PRESENT, Role::Be(Tense::Present)),
        (BE_PAST, Role::Be(Tense::Past)),
        ("been", Role::Be(Tense::Perfect)),
        ("has have", Role::Have(Tense::Present)),
        ("had", Role::Have(Tense::Past)),
        ("did formerly previously +past", Role::Aux(Tense::Past)),
        ("do does", Role::Aux(Tense::Present)),
        ("will shall", Role::Aux(Tense::Future)),
        ("no +no", Role::No),
        ("+hedge", Role::Hedge),
        ("+least over exceeding", Role::Bound(Bound::AtLeast)),
        ("+below", Role::Bound(Bound::Below)),
        ("+most", Role::Bound(Bound::AtMost)),
        ("approximately roughly nearly almost approx circa ~", Role::Bound(Bound::About)),
        ("without lacks lacking", Role::No),
    ];
    for (words, role) in lists {
        map.extend(words.split_whitespace().map(|word| (word, role)));
    }
    map
}

fn irregular() -> HashMap<&'static str, (&'static str, bool)> {
    let not_past: Vec<&str> = NOT_PAST.split_whitespace().collect();
    let pairs = IRREGULAR.split_whitespace().filter_map(|pair| pair.split_once(':'));
    pairs.map(|(form, plain)| (form, (plain, !not_past.contains(&form)))).collect()
}

fn opens() -> HashMap<String, Opens> {
    SLOTS.iter().map(|(verb, after)| (stem(verb), Opens::After(after))).collect()
}

fn nouns() -> HashMap<&'static str, Opens> {
    let named = NAMED.split_whitespace().map(|word| (word, Opens::Name));
    named.chain(FUNCTIONAL.split_whitespace().map(|word| (word, Opens::Any))).collect()
}
