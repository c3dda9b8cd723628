// Finds the dates, years and times of a text, so that their parts are not taken for figures: the 5 of 5
// January is no amount. A text that says 2026-01-05 also says January 2026, 5 January and 2026. Month 13
// makes no date.

export interface FoundDate {
  readonly at: number
  readonly chars: number
  /** The possible meanings. Each is a list of dates, which must all be known: a range of years has two. */
  readonly readings: readonly (readonly string[])[]
}

interface Parts {
  readonly year?: number | undefined
  readonly month?: number | undefined
  readonly day?: number | undefined
  /** A quarter or a half of the year: `q3`, `h1`. */
  readonly period?: string | undefined
}

/**
 * The dates that a date contains, itself first: `2026-1-5`, `2026-1`, `2026`, `--1-5`, `--1`. A date that
 * ends a quarter or a half names that, too, because reports say "the three months ended 30 September" for the
 * third quarter.
 */
export function datesWithin(date: string): readonly string[] {
  if (date.startsWith('t')) return [date, date.split(':').slice(0, 2).join(':')]
  const [year = '', month, day] = date.startsWith('--') ? ['', ...date.slice(2).split('-')] : date.split('-')
  if (month !== undefined && /^[qh]/.test(month)) return [date, year]
  const ended =
    year === '' || month === undefined || Number(month) % 3 !== 0 || Number(day ?? 31) < 30
      ? []
      : [`${year}-q${Number(month) / 3}`]
  return [
    date,
    ...(year === '' || day === undefined ? [] : [`${year}-${month}`, `--${month}-${day}`]),
    ...(year === '' || month === undefined ? [] : [year]),
    ...(month === undefined ? [] : [`--${month}`]),
    ...ended,
    ...(ended.length === 0 || Number(month) % 6 !== 0 ? [] : [`${year}-h${Number(month) / 6}`]),
  ]
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const month = String.raw`(?<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)\.?`
const day = String.raw`(?<day>\d{1,2})(?:st|nd|rd|th)?`
const year = String.raw`(?<year>(?:19|20|21)\d\d)`
const begins = String.raw`(?<![\d\p{Script=Latin}_])(?<!\d[.,])`
const ends = String.raw`(?![\d\p{Script=Latin}_])(?![.,]\d)`
const until = String.raw`\s*(?:[-–—~至到]|to)\s*`

/** Each form with the reader of its parts. An earlier form wins. */
const forms: readonly (readonly [
  source: string,
  read: (groups: Readonly<Record<string, string>>) => readonly (readonly Parts[])[],
])[] = [
  [
    String.raw`${begins}${year}(?<separator>[-/.])(?<month>\d{1,2})\k<separator>(?<day>\d{1,2})(?!\d)(?!\k<separator>\d)`,
    (parts) => [[partsOf(parts)]],
  ],
  [
    String.raw`${begins}(?<first>\d{1,2})(?<separator>[-/.])(?<second>\d{1,2})\k<separator>${year}${ends}`,
    ({ first, second, year }) => [
      [{ year: Number(year), month: Number(first), day: Number(second) }],
      [{ year: Number(year), month: Number(second), day: Number(first) }],
    ],
  ],
  [
    String.raw`(?<!\d)(?<year>(?:19|20|21)\d\d|\d\d)\s?年度?\s?(?:(?<month>\d{1,2})\s?月\s?(?:(?<day>\d{1,2})\s?[日号號])?|第?(?<quarter>[1-4一二三四])季|(?<half>[上下])半年)?`,
    (parts) => [[partsOf(parts)]],
  ],
  [
    String.raw`(?<!\d)(?<month>\d{1,2})\s?月\s?(?:(?<day>\d{1,2})\s?[日号號])?`,
    (parts) => [[partsOf(parts)]],
  ],
  [String.raw`${begins}${day}(?:\s+of)?[ -]${month}(?:,?[ -]${year})?${ends}`, (parts) => [[partsOf(parts)]]],
  [
    String.raw`(?<![\p{Script=Latin}\d_])${month}[ -]${day}(?:,?\s+${year})?${ends}`,
    (parts) => [[partsOf(parts)]],
  ],
  [String.raw`(?<![\p{Script=Latin}\d_])${month},?[ -]${year}${ends}`, (parts) => [[partsOf(parts)]]],
  [
    String.raw`\b(?<ordinal>[Ff]irst|[Ss]econd|[Tt]hird|[Ff]ourth)[ -](?<part>quarter|half)(?:\s+of)?\s+(?:fiscal\s+|FY)?${year}${ends}`,
    (parts) => [[partsOf(parts)]],
  ],
  // Quarters, halves and other periods of a year. Their own number is part of a name, as in Q1.
  [
    String.raw`(?<![\p{Script=Latin}\d_])(?:(?<quarter>[1-4])Q|(?<half>[12])H|[369]M|12M)\s?(?:FY|CY)?['’]?(?<year>(?:19|20|21)\d\d|\d\d)E?${ends}`,
    (parts) => [[partsOf(parts)]],
  ],
  [
    String.raw`(?<![\p{Script=Latin}\d_])(?:Q(?<quarter>[1-4])|H(?<half>[12]))[ -]?(?:of\s+)?(?:FY|CY)?['’]?(?<year>(?:19|20|21)\d\d|(?<=['’Y])\d\d)${ends}`,
    (parts) => [[partsOf(parts)]],
  ],
  [
    String.raw`(?<!\d)(?<year>(?:19|20|21)\d\d)[ -]?(?:Q(?<quarter>[1-4])|H(?<half>[12]))(?![\d\p{Script=Latin}])`,
    (parts) => [[partsOf(parts)]],
  ],
  [
    String.raw`(?<![\p{Script=Latin}\d_])(?:FY|CY|F\.Y\.|CAL)[ -]?['’]?(?<year>(?:19|20|21)\d\d|\d\d)(?:[/–-](?<second>(?:19|20|21)\d\d|\d\d))?[AEF]?${ends}`,
    (parts) => [yearsOf(parts['year'] ?? '', parts['second'])],
  ],
  [
    String.raw`${begins}${year}(?:${until}|/)(?<second>(?:19|20|21)\d\d)${ends}(?!\s?%)`,
    ({ year: first, second }) => [yearsOf(first ?? '', second)],
  ],
  [
    String.raw`${begins}${year}[-/–](?<second>\d\d)${ends}(?!\s?%)`,
    ({ year: first, second }) => [
      ...(Number(second) === (Number(first) + 1) % 100 ? [yearsOf(first ?? '', second)] : []),
      [{ year: Number(first), month: Number(second) }],
    ],
  ],
  [
    String.raw`(?<![\d:.])(?<hour>[01]?\d|2[0-4]):(?<minute>[0-5]\d)(?::(?<seconds>[0-5]\d)(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d(?!\d))?(?:\s?(?<meridiem>[ap])\.?m\b\.?)?(?![\d:])`,
    () => [],
  ],
]

const pattern = new RegExp(
  forms
    .map(
      ([source], index) =>
        `(?<f${index}>${source.replace(/\(\?<(?![=!])(\w+)>/g, `(?<$1_${index}>`).replace(/\\k<(\w+)>/g, String.raw`\k<$1_${index}>`)})`,
    )
    .join('|'),
  'gu',
)

/** The names of the groups of each form. */
const groupsOf = forms.map(([source]) =>
  [...source.matchAll(/\(\?<(?![=!])(\w+)>/g)].map(([, group = '']) => group),
)

export function datesIn(text: string): FoundDate[] {
  const found: FoundDate[] = []
  for (const { 0: written, index: at, groups = {} } of text.matchAll(pattern)) {
    const index = forms.findIndex((_, each) => groups[`f${each}`] !== undefined)
    const parts: Record<string, string> = {}
    for (const name of groupsOf[index] ?? []) {
      const value = groups[`${name}_${index}`]
      if (value !== undefined) parts[name] = value
    }
    const readings =
      parts['hour'] === undefined
        ? (forms[index]?.[1](parts) ?? [])
            .filter((dates) => dates.every(exists))
            .map((dates) => dates.map(dateText))
        : timesOf(parts)
    if (readings.length > 0) found.push({ at, chars: written.length, readings })
  }
  return found
}

function partsOf(parts: Readonly<Record<string, string>>): Parts {
  const named = parts['month']?.slice(0, 3).toLowerCase() ?? ''
  return {
    year: parts['year'] === undefined ? undefined : fullYear(parts['year']),
    month:
      parts['month'] === undefined
        ? undefined
        : months.includes(named)
          ? months.indexOf(named) + 1
          : Number(parts['month']),
    day: parts['day'] === undefined ? undefined : Number(parts['day']),
    period: periodOf(parts),
  }
}

function periodOf({ quarter, half, ordinal, part }: Readonly<Record<string, string>>): string | undefined {
  if (ordinal !== undefined)
    return `${part?.startsWith('q') === true ? 'q' : 'h'}${ordinals.indexOf(ordinal.toLowerCase()) + 1}`
  if (quarter !== undefined) return `q${Number(quarter) || '一二三四'.indexOf(quarter) + 1}`
  return half === undefined ? undefined : `h${Number(half) || '上下'.indexOf(half) + 1}`
}

const ordinals = ['first', 'second', 'third', 'fourth']

const fullYear = (text: string): number => (text.length > 2 ? Number(text) : 2000 + Number(text))

function yearsOf(first: string, second: string | undefined): Parts[] {
  const from = fullYear(first)
  return [
    { year: from },
    ...(second === undefined
      ? []
      : [{ year: second.length > 2 ? Number(second) : Math.floor(from / 100) * 100 + Number(second) }]),
  ]
}

/** A time in both forms: half past ten in the evening is 22:30, and may be written as 10:30. */
function timesOf({
  hour = '',
  minute = '',
  seconds,
  meridiem,
}: Readonly<Record<string, string>>): string[][] {
  const text = (hours: number): string => `t${hours}:${minute}${seconds === undefined ? '' : `:${seconds}`}`
  const hours = Number(hour)
  return [...(meridiem?.toLowerCase() === 'p' && hours < 12 ? [[text(hours + 12)]] : []), [text(hours)]]
}

const exists = ({ month = 1, day = 1 }: Parts): boolean => month >= 1 && month <= 12 && day >= 1 && day <= 31

const dateText = ({ year, month, day, period }: Parts): string =>
  year === undefined
    ? `--${month}${day === undefined ? '' : `-${day}`}`
    : [year, period, month, day].filter((part) => part !== undefined).join('-')
