//! Classes of attributes and their values, as plain text. The values of one class exclude one another.

use super::facets::Holder::{self, Person, Thing};

/// One class of attributes: who has it, which words show that it is meant, and its values
/// between bars, each as phrases between commas.
///
/// Where `needs` is not empty, one of its words must stand in one of the two texts.
pub(super) type Class = (Holder, &'static str, &'static str);

/// Attributes of persons and things.
pub(super) const CLASSES: &[Class] = &[
    (
        Person,
        "",
        "non-smoker, nonsmoker, smoke-free, quit smoking, stopped smoking, gave up smoking, given up smoking, \
        off cigarettes, no cigarettes | smoker, smokes, cigarettes, vapes, chain-smoker, pack a day",
    ),
    (
        Person,
        "",
        "teetotal, teetotaller, sober, alcohol-free, no alcohol, stopped drinking, quit drinking, gave up \
        drinking, gave up alcohol | wine, beer, beers, whisky, whiskey, gin, vodka, rum, cider, prosecco, \
        champagne, riesling, rioja, cocktail, cocktails, pint, pints, lager, ale, bourbon, negroni, aperol",
    ),
    (
        Person,
        "",
        "vegetarian, vegan, plant-based, meat-free, meatless, no meat, not eat meat, stopped eating meat, \
        gave up meat | steak, steaks, ribeye, bacon, beef, pork, ham, sausage, sausages, lamb, burger, \
        burgers, schnitzel, meat eater, carnivore, eating meat again, eats meat, eat meat, eating meat",
    ),
    (
        Person,
        "",
        "is single, was single, single again, unmarried, never married | married, husband, wife, spouse, \
        newlywed, newlyweds | divorced, split up, separated, broke up, ex-husband, ex-wife, divorce came \
        through, divorce was finalised, divorce was finalized | widowed, widow, widower | engaged to, \
        fiancé, fiancée, fiance, fiancee",
    ),
    (
        Person,
        "seat seats flight flights fly flies flying plane planes train trains book booking",
        "aisle, aisle seat | window, window seat, by the window | middle seat",
    ),
    (
        Person,
        "work works office commute commutes commuting school campus station job town",
        "drives, drive, by car, driving, carpool, carpools | by train, takes the train, take the train, the \
        train, by rail | by tram, the tram, by bus, the bus, by subway, the subway, by metro, the metro, the \
        tube, public transport, by underground | cycles, cycle, cycling, by bike, bikes, bike, by bicycle, \
        e-bike | walks, walk, on foot, walking",
    ),
    (Person, "", "left-handed, left hand, left-hander, lefty | right-handed, right hand, right-hander"),
    (
        Person,
        "",
        "early bird, morning person, early riser, early mornings, lark | night owl, late riser, evening \
        person, sleeps in, never before noon, out of bed before, not a morning person",
    ),
    (
        Person,
        "coffee tea latte espresso",
        "black, no milk, without milk | milk, oat milk, latte, cappuccino, flat white, cream",
    ),
    (Person, "coffee tea", "no sugar, without sugar, unsweetened | sugar, sugars, sweetened, honey"),
    (
        Person,
        "prefers prefer preferred reach reached contact only best likes like wants want asked asks never \
        channel please",
        "phone, call, calls, called, ring, telephone, by phone, phone call, phone calls | email, e-mail, \
        emails, mail, by mail, emailed | text, texts, sms, whatsapp, signal, texted, text message, text \
        messages, telegram | slack, teams | letter, letters, post, by post, fax",
    ),
    (
        Person,
        "answer answers reply replies explanation explanations explain response responses summary summaries \
        reasoning report reports message messages update updates email emails write-ups notes",
        "short, brief, concise, terse, succinct, bullet points, one-liner, one-liners, to the point, crisp, \
        compact, tl;dr | long, longer, detailed, in-depth, at length, verbose, thorough, step by step, full \
        explanation, full explanations, elaborate, comprehensive, in depth, in full, walk through, \
        walkthrough",
    ),
    (
        Person,
        "",
        "formal, formally, last name, surname, by surname, formal tone, sie | informal, informally, casual, \
        first name, by first name, first-name, casual tone, du",
    ),
    (
        Person,
        "",
        "lives alone, live alone, living alone, lives by herself, lives by himself, lives on her own, lives \
        on his own, living on her own, living on his own, on her own, on his own | moved in with, moved in, \
        lives with, living with, flatmate, flatmates, roommate, roommates, housemate, housemates, shared \
        flat, care home, nursing home, assisted living, retirement home, resides",
    ),
    (
        Person,
        "home flat house apartment place studio condo",
        "rents, rent, rented, renting, tenant, landlord, landlady, lease | bought, own home, homeowner, \
        mortgage, owns, own house, own flat, purchased",
    ),
    (
        Person,
        "work works working job office team days week",
        "remote, remotely, from home, home office, fully remote, wfh, works from home | onsite, on-site, on \
        site, in the office, at the office, in-office, in office, back in the office, in person | hybrid",
    ),
    (
        Person,
        "",
        "full-time, full time, fulltime | part-time, part time, parttime, half-time, half days | retired, \
        retirement, pensioner | unemployed, between jobs, out of work, laid off, jobless, looking for work, \
        job hunting, job-hunting | freelance, freelances, freelancer, freelancing, self-employed",
    ),
    (
        Person,
        "",
        "on leave, on sabbatical, on vacation, on holiday, out of office, off sick, on sick leave, on \
        maternity leave, on parental leave, on paternity leave, away until, away through, is away, was away \
        | back at work, back at her desk, back at his desk, back at their desk, back from leave, back from \
        holiday, returned from leave, back from vacation, has returned, back in the office, back to work, \
        back from sabbatical, back at",
    ),
    (Person, "", "glasses, spectacles | contact lenses, contacts, lenses"),
    (
        Person,
        "",
        "pregnant, expecting, due date | gave birth, had the baby, newborn, baby arrived, baby was born",
    ),
    (
        Person,
        "",
        "indoor cat, indoors only, never goes outside | outdoor cat, goes outside, roams outside, cat flap",
    ),
    (
        Person,
        "",
        "in a cast, on crutches, injured, torn, broken leg, broken arm, in a sling, in a boot | fully \
        recovered, healed, cleared to, fully fit, recovered",
    ),
    (
        Person,
        "",
        "healthy, no known conditions, symptom-free, in remission, cured | relapsed, relapse, chronic",
    ),
    (Person, "", "omnivore | pescatarian, pescetarian | vegan | vegetarian"),
    (Person, "", "introvert, introverted | extrovert, extroverted"),
    (
        Person,
        "",
        "kindergarten, nursery, preschool, pre-school, daycare, day-care, crèche | primary school, elementary \
        school, first grade, second grade, third grade, year 1, year 2, year 3 | secondary school, middle \
        school, high school, gymnasium, sixth form | university, college, uni, undergraduate, freshman, \
        sophomore",
    ),
    (
        Person,
        "units unit report show use prefers prefer temperatures temperature distances weights",
        "metric, celsius, kilometres, kilometers, kilograms, kg, km | imperial, fahrenheit, miles, pounds, \
        lbs",
    ),
    (Person, "clock format times time", "24-hour, 24h, 24 hour | 12-hour, 12h, 12 hour, am/pm"),
    (
        Person,
        "mode theme editor ide app terminal",
        "dark, dark mode, dark theme | light, light mode, light theme",
    ),
    (
        Thing,
        "answer answers reply replies write writes written respond responds messages emails letters docs \
        documentation comments commit commits speak correspondence talk report reports newsletter",
        "in english | in german | in french | in spanish | in italian | in portuguese | in dutch | in polish \
        | in swedish | in danish | in norwegian | in japanese | in korean | in chinese, in mandarin | in \
        turkish | in arabic | in russian | in greek",
    ),
    (
        Person,
        "indent indents indentation indented indenting code",
        "tabs, tab | spaces, two-space, four-space",
    ),
    (Thing, "", "single quotes, single-quoted | double quotes, double-quoted"),
    (
        Thing,
        "",
        "camelcase, camel case | snake_case, snake case, snake-case | kebab-case, kebab case | pascalcase, \
        pascal case",
    ),
    (
        Thing,
        "merge merges merged pr prs branch branches history commits pull",
        "squash, squashed, squash merge, squash-merge | merge commit, merge commits, no squash | rebase, \
        rebased, rebasing, linear history",
    ),
    (Thing, "", "trunk-based, trunk based | gitflow, git flow, git-flow, long-lived branches"),
    (
        Thing,
        "",
        "monorepo, single repo, one repo, one repository | separate repos, separate repositories, polyrepo, \
        own repo, own repository",
    ),
    (Thing, "", "monolith, monolithic | microservice, microservices"),
    (Thing, "", "rest | graphql | grpc | soap"),
    (Thing, "", "json | yaml | toml | xml | protobuf | avro | csv | parquet"),
    (
        Thing,
        "",
        "semver, semantic versioning, semantic versions | calver, calendar versioning, calendar date, \
        date-based, by date",
    ),
    (Thing, "", "synchronous, synchronously | asynchronous, asynchronously, in the background"),
    (Thing, "", "utc | local time, cet, est, pst, berlin time"),
    (Thing, "", "strict, strictly enforced | lenient, relaxed, not enforced, loosely enforced"),
    (
        Thing,
        "written rewritten rewrote rewrite ported port codebase implemented implementation language \
        reimplemented scripted",
        "python | typescript | javascript, node.js | rust | golang, go | java | kotlin | swift | ruby | scala \
        | elixir | php | perl | c++ | c# | haskell | clojure | dart | fortran | matlab | julia | cobol",
    ),
    (
        Thing,
        "",
        "reduces, reduce, increases, increase, improves, improve, boosts, lowers, raises, correlates with, \
        drives, has an effect, helps with, causes, works against, effective, significant effect, linked to, \
        leads to, predicts, speeds up, lifts, helps, help, hurts, degrades, worsens | no effect, no impact, \
        makes no difference, made no difference, no correlation, not affect, no influence, not reduce, not \
        increase, not improve, no significant, no measurable, ineffective, not correlate, no link, not help, \
        no help, not hurt, not matter, not cause, no benefit, not linked, vanishes, not replicate, \
        disappears",
    ),
    (
        Person,
        "",
        "active customer, active customers, paying customer, our customer, is a customer, active client, \
        active subscriber, subscribes to, active member, a member of, is a member | churned, account closed, \
        closed their account, no longer a customer, left us, terminated their contract, cancelled their \
        subscription, canceled their subscription, cancelled the contract, former customer, closed her \
        account, closed his account, resigned her membership, no longer a member, let the subscription \
        lapse, not a member",
    ),
    (
        Person,
        "",
        "bullet points, bullets, bulleted, bullet list, bullet lists, lists | prose, paragraphs, flowing \
        paragraphs, full sentences, running text, continuous text, flowing text | table, tables, tabular, \
        spreadsheet",
    ),
    (
        Thing,
        "",
        "works, working, working again, works again, works fine, is up, healthy, fine, green, stable, solid, \
        rock solid, operational, reliable, reliably, passing, passes, fixed, repaired, restored, resolved, \
        back up, runs fine, back online, good as new, flawless, flawlessly, in order, without trouble, \
        without issues, running smoothly, responsive, up and running, in service, responds, stays up, \
        deterministic, fully deterministic, steady, in working order, works perfectly, does its job, back in \
        action, up to date, no problems, trouble-free, repaired, builds cleanly, builds again, succeeds | \
        broken, is down, are down, been down, failing, fails, flaky, red, offline, out of order, crashes, \
        crashing, unstable, unusable, not working, defective, faulty, unreliable, unreachable, nothing \
        usable, out of service, keeps failing, keeps crashing, stuck, dead, unresponsive, times out, timing \
        out, blown, kaputt, busted, leaking, leaks, jammed, stopped working, keeps dropping, corrupted, on \
        the blink, not respond, gives up, not start, not turn on, cracked",
    ),
    (
        Thing,
        "",
        "is on, are on, enabled, enables, activated, active, live, switched on, turned on, rolled out, \
        running, in use, in effect, in force, unmuted, on again, back on, unpaused, resumed, reactivated, \
        re-enabled, reinstated, posted | is off, are off, disabled, disables, deactivated, inactive, \
        switched off, turned off, muted, paused, suspended, dormant, frozen, rolled back, disconnected, \
        unplugged, on hold, shelved, on ice, discontinued, parked, stopped",
    ),
    (
        Thing,
        "",
        "open, opened, accepting, welcome, open to, accepts, reopened, open again, staffed | closed, shut, \
        closed to, no longer accepting, sealed, closed for, locked, not accepting, closed down, shuttered, \
        boarded up, nobody at",
    ),
    (
        Thing,
        "",
        "supported, maintained, actively maintained, under active development, current, officially supported \
        | deprecated, retired, sunset, sunsetted, decommissioned, end-of-life, end of life, eol, archived, \
        discontinued, scrapped, abandoned, unsupported, unmaintained, phased out",
    ),
    (
        Thing,
        "",
        "full, fully booked, booked out, booked solid, no room, no space, no space left, sold out, at \
        capacity, no seats left, no places left, no vacancies, packed, oversubscribed, waiting list | empty, \
        plenty of room, plenty of space, space left, spots left, seats left, places left, vacant, free \
        places, has space, has room, room for, half empty, openings, spaces available, spots available",
    ),
    (
        Thing,
        "",
        "in stock, available, back in stock, restocked, on the shelves, obtainable | out of stock, sold out, \
        backordered, unavailable, back-ordered, on backorder, not available, no longer available, no longer \
        sold",
    ),
    (
        Thing,
        "",
        "encrypted, encrypts, encryption at rest | plaintext, plain text, unencrypted, in the clear, not \
        encrypted, cleartext",
    ),
    (
        Thing,
        "",
        "read-only, read only, view-only, readonly, read access only | write access, can write, read-write, \
        full access, admin rights, read and write, writable, edit rights, write permission, write \
        permissions, can edit, write to, admin access",
    ),
    (
        Thing,
        "",
        "public, publicly, open-source, open source, open-sourced, visible to everyone, visible to all, \
        published | private, privately, confidential, internal-only, internal only, closed-source, closed \
        source, proprietary, invite-only, behind a login, under embargo, under nda, secret",
    ),
    (
        Thing,
        "",
        "automatically, automatic, automated, by itself, on its own, auto-merged, auto-deploys, auto-deploy, \
        unattended, auto-approved, auto-renews, automates, by cron, itself | manually, manual, by hand, \
        someone has to, somebody has to, press the, by a person, by a human, hand-rolled, nothing by itself, \
        not by itself, no automatic, not automatic, not automatically, no automation, click of a",
    ),
    (
        Thing,
        "",
        "free, free of charge, complimentary, gratis, at no cost, no charge, no cost, no fee, no extra cost, \
        costs nothing, included in the price, for nothing, waives, free shipping, included | paid, costs, \
        charged, charges, chargeable, surcharge, extra charge, at extra cost, for a fee, fee of, not free, \
        pay for, not included, billed, has to be paid, costs extra",
    ),
    (
        Thing,
        "",
        "on premises, on-premises, on-prem, on premise, self-hosted, self hosted, own servers, own server, \
        in-house, own hardware, own datacenter, own data centre, self-host, own box | cloud, saas, \
        cloud-hosted, hosted version, managed service, fully managed",
    ),
    (
        Thing,
        "hob stove heating heat oven cooker boiler car cars van truck kitchen house furnace drive drives \
        vehicle mower",
        "gas, lpg | induction | electric, ev, battery-powered, fully electric | oil | heat pump, air-source | \
        wood, pellet, pellets, log burner | diesel | petrol, gasoline | district heating | solar | hybrid, \
        plug-in hybrid | coal",
    ),
    (
        Thing,
        "front door painted paint colour color walls wall car bike logo couch sofa theme brand primary \
        background",
        "red | blue, navy | green | yellow | black | white | grey, gray | orange | purple, violet | brown | \
        pink | turquoise, teal | beige, cream",
    ),
    (
        Thing,
        "lesson lessons meeting meetings class classes session sessions appointment appointments training \
        interview interviews standup course courses consultation therapy workshop workshops seminar check-in \
        call retro held",
        "online, via zoom, over zoom, on zoom, remote, remotely, virtual, virtually, video call, by video, \
        over video, on teams | in person, in-person, on site, onsite, on-site, face to face, face-to-face, \
        at the office, in the classroom",
    ),
    (
        Thing,
        "",
        "upfront, up front, prepaid, in advance, one sum, lump sum, in one go, all at once, single payment | \
        instalments, installments, in arrears, staggered, in tranches, in stages, monthly payments",
    ),
    (
        Thing,
        "",
        "half board | full board | all-inclusive, all inclusive | self-catering, self catering | breakfast \
        only, bed and breakfast, b&b",
    ),
    (
        Thing,
        "sorted order ordered results rows list returned",
        "sorted, sorted by, ordered by, chronological, chronologically, alphabetical, alphabetically | no \
        particular order, no guaranteed order, unsorted, random order, unordered, arbitrary order",
    ),
    (Thing, "", "even weeks, even | odd weeks, odd"),
    (
        Thing,
        "invoices invoice invoiced billed billing paid priced charge contract prices salary bill",
        "euros, euro, eur, € | dollars, usd | pounds, gbp, sterling | francs, chf",
    ),
    (
        Thing,
        "",
        "no approval, without approval, without asking, on its own, on their own, without sign-off, without \
        review, no review, no sign-off, self-approve, self-approved, freely, no questions asked, nobody has \
        to approve | needs approval, requires approval, need approval, require approval, must be approved, \
        sign-off from, approval from, has to approve, must approve, has to sign off, ok before, needs \
        sign-off, human's ok, ok from, approval of, needs a review, need a second, signed off by, needs \
        permission, must be reviewed, has to be approved, green light from",
    ),
    (
        Thing,
        "",
        "around the clock, 24/7, 24 hours, day and night, all day and night, round the clock, at any hour, 24 \
        x 7, any time of day, nonstop, all night | business hours, office hours, weekdays only, on weekdays, \
        working hours, nine to five, 9 to 5, closes at, shuts at, until 6, nobody at, weekdays from, only on \
        weekdays, not at night, overnight closure",
    ),
    (Thing, "", "soundproof, quiet, silent, peaceful | noisy, loud, rowdy, deafening"),
    (Thing, "", "waterproof, watertight | leaky, not waterproof, lets water in, leaking"),
    (Thing, "", "reversible | irreversible, final, cannot be undone, can not be undone"),
    (Thing, "", "stateless | stateful"),
    (
        Thing,
        "",
        "unlimited, no limit, uncapped, without limit, no cap, as many as, unmetered | limited to, capped at, \
        at most, maximum of, limit of, cap of, no more than, quota of, up to",
    ),
    (
        Thing,
        "",
        "refundable, fully refundable, money back, refunds are possible | non-refundable, nonrefundable, no \
        refunds, no refund, not refundable",
    ),
    (
        Thing,
        "",
        "permanent, indefinitely, forever, for ever, for good, never expire, never expires, not expire, for \
        life, lifetime, never deleted | temporary, expires after, expire after, valid for, deleted after, \
        purged after, expires in, kept for, wiped after, forgotten",
    ),
    (
        Thing,
        "",
        "accessible, step-free, wheelchair accessible, ramp | inaccessible, not accessible, stairs only, only \
        stairs, no ramp",
    ),
    (Thing, "", "passable, clear, cleared | impassable, blocked, flooded"),
    (Thing, "", "draft, unpublished, not published | published, public"),
    (
        Thing,
        "",
        "bare metal, bare-metal | virtual machines, virtual machine, vms, vm | containers, container, \
        containerised, containerized, in docker | serverless, lambda",
    ),
    (Thing, "", "eventually consistent, eventual consistency | strongly consistent, strong consistency"),
];

/// Duties and freedoms: what must be, what need not be, what must not be, what may be.
pub(super) const DUTIES: &str = "must, has to, have to, needs to, need to, required to, are required, is required, mandatory, \
    compulsory, obligatory, obliged to, always, requires, required, is needed, are needed, duty to, \
    expected to, shall, insists on, must be, needs, need | no need, not have to, not need to, not need, \
    not required, optional, voluntary, up to you, up to them, at their discretion, can skip, may skip, \
    needless, unnecessary, not necessary, not mandatory, not compulsory, not needed, no longer required, \
    no longer needed, no longer mandatory, no longer has to, no longer have to, not obliged, exempt, \
    waived | must not, must never, may not, not allowed, banned, forbidden, prohibited, off limits, \
    off-limits, not permitted, never, do not, disallowed, cannot, can not, out of bounds, refuse, \
    refuses, bans, forbids, prohibits, rejected, rejects, leave out, leave them out, not accepted, not \
    welcome | may, allowed, permitted, free to, welcome, welcome to, is fine, are fine, okay to, ok to, \
    are ok, is ok, fine by, feel free, accepted, accepts, accept, allows, permits, granted, are granted, \
    at liberty to, legal, entitled to, okay, authorised, authorized, tolerated";

/// How often something comes: hourly first, yearly last.
pub(super) const CADENCES: &str = "hourly, every hour, on the hour, each hour, once an hour | daily, every day, each day, nightly, once \
    a night, once per day, per night, every night, each night, every morning, every evening, once a day, \
    once daily, each morning, each evening, every weekday, each weekday, per day | twice a day, twice \
    daily, two times a day, morning and evening | three times a day, three times daily, thrice daily | \
    twice a week, twice weekly, two times a week | three times a week, thrice a week | weekly, every \
    week, each week, once a week, once weekly, every monday, every tuesday, every wednesday, every \
    thursday, every friday, every saturday, every sunday, per week | biweekly, bi-weekly, fortnightly, \
    every two weeks, every other week, every second week, two weeks at, alternate weeks, every \
    fortnight, once a fortnight, every 2 weeks, alternating | twice a month, two times a month | \
    monthly, every month, each month, once a month, of the month, of each month, of every month | \
    bimonthly, every two months, every other month, every second month | quarterly, every quarter, each \
    quarter, once a quarter, every three months, every 3 months | twice a year, every six months, \
    half-yearly, semiannually, semi-annually, every 6 months, biannually | yearly, annually, annual, \
    every year, each year, once a year, every twelve months | every two years, every other year, \
    biennially";

/// Verbs and phrases of liking, eating or doing something, whose objects follow.
pub(super) const TAKES_TO: &str = "takes|starts each day with|starts the day with|starts with|loves|love|likes|like|enjoys|enjoy|fond of|fan of|big fan of|eats|eat|eating|drinks|drink|drinking|adores|keen on|crazy about|\
    addicted to|swears by|snacks on|orders|craves|happy with|favourite|favorite|can eat|can handle|tolerates|comfortable with|watches|\
    into|hooked on|enthusiastic about|cooks|devours|has started eating|started eating|back on|taken up|took up|goes for|can not get enough of|plays|practises|practices";

/// Verbs and phrases of leaving something be, whose objects follow.
pub(super) const KEEPS_FROM: &str = "hates|hate|dislikes|dislike|loathes|detests|can not stand|can not handle|can not tolerate|can not eat|can not bear|\
    can not have|allergic to|allergy to|intolerant to|intolerance to|avoids|avoid|avoiding|refuses|never eats|never drinks|never touches|never watches|\
    not eat|not drink|not touch|not like|not enjoy|not watch|not play|not want|not care for|not a fan of|no fan of|no|gave up|given up|quit|\
    stopped eating|stopped drinking|stopped|cut out|has cut out|off|fed up with|sick of|afraid of|scared of|terrified of|fear of|\
    phobia of|steers clear of|stays away from|stay away from|bored with|done with|grew out of|weaned off|not tolerate|not fond of|\
    react to|reacts to|reacts badly to|eats no|drinks no|swore off|not keen on|can not take|not interested in|not into";

/// Persons that are somebody's: what is said of them is not said of whose they are.
pub(super) const RELATIVES: &str = "sister brother wife husband son daughter mother father mum mom dad friend colleague cousin partner \
    neighbour neighbor boss twin kids kid children child uncle aunt nephew niece grandma grandpa grandmother grandfather girlfriend boyfriend \
    fiancé fiancée parents roommate flatmate assistant manager coworker teammate tenant landlord family baby toddler stepson \
    stepdaughter mother-in-law father-in-law in-laws sibling siblings grandson granddaughter ex subsidiary competitor";

/// Words of cadences that elsewhere tell parts apart.
pub(super) const USED_AS_PARTS: &str = "monthly yearly annual annually quarterly";

/// Times of a year, at which something may have become different.
pub(super) const SEASONS: &str = "january february march april june july august september october november december spring \
    autumn christmas easter";
