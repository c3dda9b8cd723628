// Decides the permission of a tool call: allow, ask or deny (D-19). The first matching rule decides,
// otherwise the tool's own permission.
// P2. A rule that cannot be evaluated denies. Rules see the whole subject; people see it with hidden
// characters made visible, and with a note if it is cut. A rule that asks or denies holds for every spelling
// of what it names, one that allows for one (judge-subject.ts).
import { visible } from '@beaver/core'
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
}

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
  if (found === null) return { decision: tool.permission ?? 'allow', subject: shown(subject), rule: null }
  const { rule, as } = found
  return {
    decision: rule.decision,
    subject: shown(subject),
    rule: `${ruleText(rule)}${as === null ? '' : ` (this could be: ${shown(as, asCharsMax)})`}`,
  }
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
  const rule = ruleFor(tool, subject, rules)?.rule
  return {
    decision: rule?.decision ?? tool.permission ?? 'allow',
    explicit: /[^*]/.test(rule?.pattern ?? ''),
  }
}

/**
 * The first rule that holds, and as what it sees the subject, if that is not the subject as it is written.
 */
function ruleFor(
  tool: Ruled,
  subject: string,
  rules: readonly PermissionRule[],
): { readonly rule: PermissionRule; readonly as: string | null } | null {
  const judged = judgedSubject(tool.subjectKind ?? 'text', subject)
  for (const rule of rules) {
    if (
      !matchesPattern(rule.tool, tool.name) &&
      (tool.ruledAs === undefined || !matchesPattern(rule.tool, tool.ruledAs))
    )
      continue
    if (rule.pattern === undefined) return { rule, as: null }
    const held =
      rule.decision === 'allow'
        ? judged.allows(rule.pattern)
          ? { as: null }
          : null
        : judged.restricts(rule.pattern)
    if (held !== null) return { rule, as: held.as }
  }
  return null
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
