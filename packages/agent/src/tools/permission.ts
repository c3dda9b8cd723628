// Decides the permission of a tool call: allow, ask or deny (D-19). The first matching rule decides,
// otherwise the tool's own permission.
// P2. A rule that cannot be evaluated denies. Rules see the whole subject; people see it with hidden
// characters made visible, and with a note if it is cut. A rule that asks or denies holds for every spelling
// of what it names, one that allows for one (judge-subject.ts).
import { visible } from '@beaver/core'
import { stricter } from '@beaver/core/taint'
import { judgedSubject, type SubjectKind } from './judge-subject.ts'
import { matchesPattern } from './rule-pattern.ts'
import { thrownText } from './tool-failure.ts'

/** What happens to a call: it runs, a person is asked, or it is refused. */
export type Permission = 'allow' | 'ask' | 'deny'

/** A rule of the configuration. */
export interface PermissionRule {
  /** The name of a tool. `*` matches any characters. */
  readonly tool: string
  /**
   * Matches what the call would act on (`Tool.subject`). `*` matches any characters. If the rule asks or
   * denies, it also holds for every other spelling of the same path, address or command. Default: every call.
   */
  readonly pattern?: string | undefined
  readonly decision: Permission
  /**
   * What a rule that denies does to a call of which nobody can say whether it is what the rule names: a script
   * that is not readable, a program that gets its code as an argument. Default: `ask`.
   */
  readonly unreadable?: Unreadable | undefined
}

/** What a rule that denies does if it only could hold. */
export type Unreadable = 'ask' | 'deny'

/**
 * The rules of a configuration, each with what it does if it only could hold.
 *
 * @example
 * const rules = rulesOf({ rules: [{ tool: 'echo', decision: 'deny' }], unreadable: 'deny' })
 * rules[0]?.unreadable // => 'deny'
 */
export const rulesOf = ({
  rules,
  unreadable,
}: {
  readonly rules: readonly PermissionRule[]
  readonly unreadable: Unreadable
}): readonly PermissionRule[] => rules.map((rule) => ({ ...rule, unreadable }))

/** What the rules and people must know of a tool. */
export interface Ruled {
  readonly name: string
  /** Applies if no rule of the configuration decides. Default: `allow`. */
  readonly permission?: Permission
  /** What a call acts on, for rules and people: a path, a URL, a command. Default: the arguments as JSON. */
  subject?(args: unknown): string | null
  /** What the subject is, so that rules know its other spellings. Default: `text`. */
  readonly subjectKind?: SubjectKind
  /** The rules for the tool of this name hold for this tool, too. Default: only its own. */
  readonly ruledAs?: string
}

/** The decision about a call, and its reason. */
export interface PermissionDecision {
  readonly decision: Permission
  /** What the call would act on, for the person who decides. */
  readonly subject: string
  /** The rule that decided, as text, or why no rule could. `null`: the tool's own permission decided. */
  readonly rule: string | null
  /** The rule only could hold: nobody can read what the call does. */
  readonly possible?: true
}

/** What the rules say about a subject of a tool, while a call of it runs. */
export interface SubjectPermission {
  readonly decision: Permission
  /**
   * Whether a rule with a pattern decided that is about more than everything. Such a rule allows what is
   * protected by its name.
   */
  readonly explicit: boolean
}

const shownCharsMax = 20_000
const asCharsMax = 200

/**
 * What the rules and the tool say about a call.
 *
 * @param args the arguments from `readCallArguments`, before the tool's schema reads them
 * @example
 * const echo = { name: 'echo', description: '', parameters: {}, idempotent: true, invoke: async () => '' }
 * permissionOf(echo, { text: 'a' }, [{ tool: 'echo', decision: 'deny' }]).decision // => 'deny'
 */
export function permissionOf(
  tool: Ruled,
  args: unknown,
  rules: readonly PermissionRule[],
): PermissionDecision {
  let subject: string
  try {
    subject = subjectOf(tool, args)
  } catch (error) {
    return {
      decision: 'deny',
      subject: '',
      rule: `It is not known what ${tool.name} would act on (${thrownText(error)}), so no rule can decide.`,
    }
  }
  const found = ruleFor(tool, subject, rules)
  const own = tool.permission ?? 'allow'
  if (found === null) return { decision: own, subject: shown(subject), rule: null }
  const { rule, as, possible, decision } = found
  const notes = [
    ...(as === null ? [] : [`this could be: ${shown(as, asCharsMax)}`]),
    ...(possible && decision !== rule.decision ? ['so a person decides'] : []),
  ]
  return {
    decision,
    subject: shown(subject),
    rule: `${ruleText(rule)}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`,
    ...(possible ? { possible } : {}),
  }
}

const isAbout = ({ tool }: PermissionRule, { name, ruledAs }: Pick<Ruled, 'name' | 'ruledAs'>): boolean =>
  matchesPattern(tool, name) || (ruledAs !== undefined && matchesPattern(tool, ruledAs))

/**
 * The rules about a tool, in their order, up to the first one that is about every call.
 *
 * @example
 * const rules = [{ tool: 'e*', pattern: 'a', decision: 'ask' }, { tool: 'echo', decision: 'deny' }, { tool: '*', decision: 'allow' }] as const
 * rulesAbout({ name: 'echo' }, rules).map(({ decision }) => decision) // => ['ask', 'deny']
 */
export function rulesAbout(
  tool: Pick<Ruled, 'name' | 'ruledAs'>,
  rules: readonly PermissionRule[],
): readonly PermissionRule[] {
  const about = rules.filter((rule) => isAbout(rule, tool))
  const last = about.findIndex(({ pattern }) => pattern === undefined)
  return last === -1 ? about : about.slice(0, last + 1)
}

/** A rule in one line, for people. */
export const ruleText = ({ decision, tool, pattern }: PermissionRule): string =>
  `${decision} ${tool}${pattern === undefined ? '' : ` ${pattern}`}`

/**
 * Judges a subject that is known only while the call runs: where a link leads, for example.
 *
 * @param subject in the form of `tool.subject`
 * @example
 * permissionOnSubject({ name: 'open' }, 'https://a.example', [{ tool: 'open', decision: 'deny' }]).decision // => 'deny'
 */
export function permissionOnSubject(
  tool: Ruled,
  subject: string,
  rules: readonly PermissionRule[],
): SubjectPermission {
  const found = ruleFor(tool, subject, rules)
  return {
    decision: found?.decision ?? tool.permission ?? 'allow',
    explicit: found?.possible !== true && /[^*]/.test(found?.rule.pattern ?? ''),
  }
}

interface Found {
  readonly rule: PermissionRule
  /** As what the rule sees the subject, if that is not the subject as it is written. */
  readonly as: string | null
  readonly possible: boolean
  readonly decision: Permission
}

/**
 * The first rule that holds. A rule before it that only could hold decides if it is stricter than what would
 * decide without it.
 */
function ruleFor(tool: Ruled, subject: string, rules: readonly PermissionRule[]): Found | null {
  const judged = judgedSubject(tool.subjectKind ?? 'text', subject)
  let could: Found | null = null
  for (const rule of rules) {
    if (!isAbout(rule, tool)) continue
    const { pattern, decision } = rule
    const held =
      pattern === undefined
        ? { as: null }
        : decision !== 'allow'
          ? judged.restricts(pattern)
          : judged.allows(pattern)
            ? { as: null }
            : null
    if (held === null) continue
    if (held.possible !== true) return stricterOf(could, { rule, as: held.as, possible: false, decision })
    const softened = decision === 'deny' ? (rule.unreadable ?? 'ask') : decision
    could = stricterOf(could, { rule, as: held.as, possible: true, decision: softened })
  }
  return could === null || stricter(could.decision, tool.permission ?? 'allow') === could.decision
    ? could
    : null
}

/** The stricter one. Of two that are equal, a rule that holds counts, and then the first one. */
function stricterOf(first: Found | null, other: Found): Found {
  if (first === null) return other
  const [one, two] = other.possible ? [first, other] : [other, first]
  return stricter(one.decision, two.decision) === one.decision ? one : two
}

/** What a call acts on, in the form that rules match. Throws what the tool throws. */
export function subjectOf(tool: Ruled, args: unknown): string {
  const own: unknown = tool.subject?.(args) ?? null
  if (own === null) return JSON.stringify(args) ?? ''
  if (typeof own !== 'string') throw new TypeError(`its subject is a ${typeof own}, not text`)
  return own
}

/** Shows control characters, and characters that change the writing direction, as escapes. */
function shown(subject: string, charsMax = shownCharsMax): string {
  const text = visible(subject.slice(0, charsMax).toWellFormed())
  return subject.length > charsMax ? `${text} … [cut: ${subject.length - charsMax} more characters]` : text
}
