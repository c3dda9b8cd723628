// Finds permission rules that can never hold, so that nobody relies on them. It stops nothing: such a rule is
// useless, and the others still hold. A rule is named only if no call could make it hold. A tool of an MCP
// server is not known before the server says it, so its name may be any name with the server's beginning.
import { patternOfAddress } from '../hosts/host-pattern.ts'
import type { SubjectKind } from './judge-subject.ts'
import { matchesPattern } from './rule-pattern.ts'
import { type PermissionRule, ruleText } from './permission.ts'
import { teamSharedState } from './team-shared-state.ts'
import type { Tool } from './tool.ts'

/** A rule that can never hold. */
export interface RuleFault {
  /** The place of the rule in the list, from 1. */
  readonly place: number
  /** The rule in one line, such as `deny read_file /etc/*`. */
  readonly rule: string
  /** Why it never holds, and what to write. */
  readonly reason: string
}

/** What the rules of a configuration are about. */
export interface RuledTools {
  readonly tools: readonly Pick<Tool, 'name' | 'subjectKind' | 'subject'>[]
  /** What the names of further tools begin with: `server_` for each MCP server. Default: none. */
  readonly beginnings?: readonly string[]
}

/** Stands for what a `*` of another pattern could match. No name and no subject contains it. */
const anyText = '\uFFFF'

/**
 * Finds the rules that can never hold: they name no tool, an earlier rule decides in their place, or their
 * pattern has another form than what the tool acts on.
 *
 * @example
 * const rules = [{ tool: 'read_file', pattern: '/etc/*', decision: 'deny' }] as const
 * const tools = [{ name: 'read_file', subjectKind: 'path' }] as const
 * ruleFaults(rules, { tools }).map(({ place, rule }) => `${place}: ${rule}`) // => ['1: deny read_file /etc/*']
 */
export function ruleFaults(
  rules: readonly PermissionRule[],
  { tools, beginnings = [] }: RuledTools,
): RuleFault[] {
  const known = [...tools, teamSharedState]
  return rules.flatMap((rule, at) => {
    const about = known.filter(({ name }) => matchesPattern(rule.tool, name))
    const others = beginnings.some((beginning) => couldBegin(rule.tool, beginning))
    const reason =
      (about.length === 0 && !others ? namesNothing(rule.tool) : null) ??
      coveredBy(rule, rules.slice(0, at), others ? null : about.map(({ name }) => name)) ??
      (others ? null : formFault(rule, about))
    return reason === null ? [] : [{ place: at + 1, rule: ruleText(rule), reason }]
  })
}

/** Whether a name that the pattern matches could begin like this. */
function couldBegin(pattern: string, beginning: string): boolean {
  const [head = '', ...rest] = pattern.split('*')
  return head.startsWith(beginning) || (rest.length > 0 && beginning.startsWith(head))
}

const switches: Readonly<Record<string, string>> = {
  run_command: 'run_command.enabled',
  web_search: 'web_search.url',
}

function namesNothing(tool: string): string {
  const key = switches[tool]
  if (key !== undefined) return `${tool} is off. "${key}" of the configuration turns it on`
  return 'no tool has such a name. "beaver tools list" shows the names, without "system:"; workflows need no permission'
}

function coveredBy(
  rule: PermissionRule,
  earlier: readonly PermissionRule[],
  names: readonly string[] | null,
): string | null {
  const covers = (pattern: string, other: string): boolean =>
    matchesPattern(pattern, other.replaceAll('*', anyText))
  const at = earlier.findIndex(
    (each) =>
      (covers(each.tool, rule.tool) || names?.every((name) => matchesPattern(each.tool, name)) === true) &&
      covers(each.pattern ?? '*', rule.pattern ?? '*'),
  )
  const first = earlier[at]
  return first === undefined ? null : `rule ${at + 1} (${ruleText(first)}) comes first and covers it`
}

function formFault({ pattern, decision }: PermissionRule, about: RuledTools['tools']): string | null {
  if (pattern === undefined) return null
  const faults = about.map(({ subjectKind = 'text', subject }) =>
    faultOf(subjectKind, pattern, { allows: decision === 'allow', ofJson: subject === undefined }),
  )
  return faults.length > 0 && faults.every((each) => each !== null) ? (faults[0] ?? null) : null
}

function faultOf(
  kind: SubjectKind,
  pattern: string,
  { allows, ofJson }: { readonly allows: boolean; readonly ofJson: boolean },
): string | null {
  if (pattern === '' && (kind !== 'text' || ofJson))
    return 'its pattern is empty. Leave the pattern out for every call'
  switch (kind) {
    case 'path':
      return pathFault(pattern)
    case 'url':
      return addressFault(pattern)
    case 'command':
      return commandFault(pattern, allows)
    case 'text':
      return ofJson && !couldBegin(pattern, '{')
        ? 'the tool acts on its arguments as JSON, which begins with "{". Begin the pattern with "*"'
        : null
    default:
      return kind satisfies never
  }
}

function pathFault(pattern: string): string | null {
  const parts = pattern.split('/')
  if (/^[/\\]|^[a-z]:/i.test(pattern))
    return 'paths are relative to the workspace. Write the pattern without the beginning, or with "*/"'
  if (parts.includes('..')) return 'a path never contains "..". Write the pattern relative to the workspace'
  if (pattern.endsWith('/'))
    return 'a path never ends with "/". Write "*" after it for everything in the folder'
  if (pattern !== '.' && parts.some((part) => part === '' || part === '.'))
    return 'a path never contains "./" or "//". Leave it out'
  return null
}

function addressFault(pattern: string): string | null {
  const own = patternOfAddress(pattern)
  if (!['http://', 'https://'].some((beginning) => couldBegin(own, beginning)))
    return 'addresses begin with "http://" or "https://". Write the whole address, or begin with "*"'
  if (own.includes('*') && /^https?:\/\/[^/*]+$/.test(own)) return 'after the host of an address comes "/"'
  return null
}

function commandFault(pattern: string, allows: boolean): string | null {
  if (pattern.startsWith(' ') || (pattern.endsWith(' ') && pattern.trim() !== ''))
    return 'a command neither begins nor ends with a space. Leave it out, or end with "*"'
  const known = (pattern.split('*', 1)[0] ?? '').replaceAll(/'[^']*'?|\\'/g, 'q')
  if (/[^ -~]|  /.test(known))
    return 'the words of a command have one space between them, and other letters are in single quotes'
  if (allows && /["$`;&|<>()[\]{}#~!?\\]/.test(known))
    return 'a word of a command with such a character is in single quotes, and a rule that allows is compared with it as it is written'
  return null
}
