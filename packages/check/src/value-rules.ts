// The rule about values in outputs: a check of a place in an output has the verdict that the recorded output
// gives. A node's output is the last answer of its run, and a task's the final output of its end. For checks
// of other kinds, only the existence of the place is judged; the rest needs what the run was given. Answers
// are kept only for a log with such a check, until they are judged.
import type { CheckedEvent } from './event.ts'
import type { Report } from './rules.ts'
import type { Trail } from './trail.ts'

export function judgeValues(trail: Trail, event: CheckedEvent, report: Report): void {
  switch (event.type) {
    case 'task_submitted':
      trail.looksInside ||= (event.data.request?.required_evidence ?? []).some(looksInside)
      return
    case 'task_team_run_started':
      trail.looksInside ||= event.data.graph.nodes.some(demandsValue)
      return
    case 'graph_extended':
      trail.looksInside ||= event.data.nodes.some(demandsValue)
      return
    case 'assistant_message_added':
      if (trail.looksInside && event.runId !== null && typeof event.data.content === 'string')
        trail.answers.set(event.runId, event.data.content)
      return
    case 'node_evidence_evaluated': {
      const { run_id: runId, checks = [], node_id: nodeId } = event.data
      const answer = runId === undefined ? undefined : trail.answers.get(runId)
      if (answer !== undefined) judgeChecks(checks, answer, `the node ${nodeId}`, report)
      if (runId !== undefined) trail.answers.delete(runId)
      return
    }
    case 'task_completed':
    case 'task_incomplete': {
      const { final_output: output, evidence = [] } = event.data
      if (output !== undefined && output !== '') judgeChecks(evidence, output, 'the task', report)
      return
    }
    default:
  }
}

type Demands = Extract<CheckedEvent, { type: 'graph_extended' }>['data']['nodes'][number]
const demandsValue = ({ required_evidence: required = [], validation_rules: rules = [] }: Demands): boolean =>
  [...required, ...rules].some(looksInside)

type Loose = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const looksInside = (requirement: unknown): requirement is Loose & { readonly path: string } =>
  isObject(requirement) && typeof requirement['path'] === 'string'

/**
 * Whether an output passes a requirement of a place in it. For other kinds than `output_value`: whether the
 * place exists.
 *
 * @example
 * passesAt({ kind: 'output_value', path: '/total', equals: 3 }, '{"total": 3}') // => true
 * passesAt({ kind: 'output_value', path: '/total/length' }, '{"total": [3]}') // => false
 */
export function passesAt(requirement: Loose & { readonly path: string }, output: string): boolean {
  const value = jsonIn(output)
  const found = value === undefined ? undefined : at(value.json, requirement.path)
  return found !== undefined && (requirement['kind'] !== 'output_value' || fits(found.json, requirement))
}

function judgeChecks(
  checks: readonly { readonly requirement?: unknown; readonly status?: unknown }[],
  output: string,
  subject: string,
  report: Report,
): void {
  for (const { requirement, status } of checks) {
    if (!looksInside(requirement) || (status !== 'passed' && status !== 'failed')) continue
    const holds = passesAt(requirement, output)
    const judged = requirement['kind'] === 'output_value' || !holds
    if (judged && holds !== (status === 'passed'))
      report(
        'evidence_value',
        `the check of ${JSON.stringify(requirement.path)} of ${subject} ${status}, and its output says otherwise`,
      )
  }
}

/** A value, which may be `null`. */
interface Found {
  readonly json: unknown
}

/** The JSON of an output: the whole text, or one fenced block that is the whole text. */
function jsonIn(output: string): Found | undefined {
  const text = output.trim()
  const [first = '', ...rest] = text.split('\n')
  const fence = /^(`{3,}|~{3,})/.exec(first)?.[0]
  const end = rest.findIndex((line) => fence !== undefined && isClosing(line.trim(), fence))
  const inner =
    fence !== undefined && end >= 0 && end === rest.length - 1 ? rest.slice(0, -1).join('\n') : text
  try {
    return { json: JSON.parse(inner.trim()) as unknown }
  } catch {
    return undefined
  }
}

const isClosing = (line: string, fence: string): boolean =>
  line.length >= fence.length && [...line].every((character) => character === fence[0])

/** The value at a JSON Pointer (RFC 6901). */
function at(json: unknown, pointer: string): Found | undefined {
  if (pointer !== '' && !pointer.startsWith('/')) return undefined
  let here: Found = { json }
  for (const step of pointer.split('/').slice(1)) {
    if (/~(?![01])/.test(step)) return undefined
    const name = step.replace(/~[01]/g, (escape) => (escape === '~1' ? '/' : '~'))
    const inner = Array.isArray(here.json) ? itemOf(here.json, name) : memberOf(here.json, name)
    if (inner === undefined) return undefined
    here = inner
  }
  return here
}

const itemOf = (list: readonly unknown[], name: string): Found | undefined =>
  /^(0|[1-9][0-9]*)$/.test(name) && Number(name) < list.length ? { json: list[Number(name)] } : undefined

const memberOf = (value: unknown, name: string): Found | undefined =>
  isObject(value) && Object.prototype.propertyIsEnumerable.call(value, name)
    ? { json: value[name] }
    : undefined

function fits(value: unknown, { equals, min, max }: Loose): boolean {
  if (equals !== undefined) return same(value, equals)
  if (typeof min !== 'number' && typeof max !== 'number') return true
  return (
    typeof value === 'number' &&
    !(typeof min === 'number' && value < min) &&
    !(typeof max === 'number' && value > max)
  )
}

function same(one: unknown, other: unknown): boolean {
  if (Array.isArray(one))
    return Array.isArray(other) && one.length === other.length && one.every((each, i) => same(each, other[i]))
  if (!isObject(one)) return one === other
  if (!isObject(other)) return false
  const [names, others] = [Object.keys(one).toSorted(), Object.keys(other).toSorted()]
  return (
    names.length === others.length &&
    names.every((name, i) => name === others[i] && same(one[name], other[name]))
  )
}
