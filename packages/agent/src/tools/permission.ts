// Decides the permission of a tool call: allow, ask or deny (decisions.md D-19). Pure.
// P1. The first rule that matches decides. Without one, the tool's own permission decides.
// P2. A rule that cannot be evaluated denies.
// P3. Rules see the whole subject. People see it with hidden characters made visible, and with a note if it is cut.
import { visible } from '@beaver/core'
import { thrownText } from './tool-failure.ts'
import type { Tool } from './tool.ts'

/** What happens to a call: it runs, a person is asked, or it is refused. */
export type Permission = 'allow' | 'ask' | 'deny'

/** A rule of the configuration. */
export interface PermissionRule {
  /** The name of a tool. `*` matches any characters. */
  readonly tool: string
  /** Matches what the call would act on (`Tool.subject`). `*` matches any characters. Default: every call. */
  readonly pattern?: string | undefined
  readonly decision: Permission
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
  /** Whether a rule with a pattern decided that is about more than everything. Such a rule allows what is protected by its name. */
  readonly explicit: boolean
}

const shownCharsMax = 20_000

/** @param args the arguments from `readCallArguments`, before the tool's schema reads them */
export function permissionOf(tool: Tool, args: unknown, rules: readonly PermissionRule[]): PermissionDecision {
  let subject: string
  try {
    subject = subjectOf(tool, args)
  } catch (error) {
    return { decision: 'deny', subject: '', rule: `It is not known what ${tool.name} would act on (${thrownText(error)}), so no rule can decide.` }
  }
  const rule = ruleFor(tool, subject, rules)
  if (rule === undefined) return { decision: tool.permission ?? 'allow', subject: shown(subject), rule: null }
  return { decision: rule.decision, subject: shown(subject), rule: `${rule.decision} ${rule.tool}${rule.pattern === undefined ? '' : ` ${rule.pattern}`}` }
}

/**
 * Judges a subject that is known only while the call runs: where a link leads, for example.
 *
 * @param subject in the form of `tool.subject`
 * @example
 * permissionOnSubject({ name: 'open' }, 'https://a.example', [{ tool: 'open', decision: 'deny' }]).decision // => 'deny'
 */
export function permissionOnSubject(tool: Pick<Tool, 'name' | 'permission'>, subject: string, rules: readonly PermissionRule[]): SubjectPermission {
  const rule = ruleFor(tool, subject, rules)
  return { decision: rule?.decision ?? tool.permission ?? 'allow', explicit: /[^*]/.test(rule?.pattern ?? '') }
}

function ruleFor(tool: Pick<Tool, 'name'>, subject: string, rules: readonly PermissionRule[]): PermissionRule | undefined {
  return rules.find((each) => matches(each.tool, tool.name) && (each.pattern === undefined || matches(each.pattern, subject)))
}

/** What a call acts on, in the form that rules match. Throws what the tool throws. */
export function subjectOf(tool: Tool, args: unknown): string {
  const own: unknown = tool.subject?.(args) ?? null
  if (own === null) return JSON.stringify(args) ?? ''
  if (typeof own !== 'string') throw new TypeError(`its subject is a ${typeof own}, not text`)
  return own
}

/** Whether a pattern with `*` covers the text. Finds the parts between the `*` in their order, each at its first place, so that there is no backtracking. */
export function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  for (const part of rest) {
    const at = text.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return from <= text.length - last.length
}

/** Shows control characters, and characters that change the writing direction, as escapes. */
function shown(subject: string): string {
  const text = visible(subject.slice(0, shownCharsMax).toWellFormed())
  return subject.length > shownCharsMax ? `${text} … [cut: ${subject.length - shownCharsMax} more characters]` : text
}
