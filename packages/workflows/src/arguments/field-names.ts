// Finds the field that an unknown name probably means: another case, a synonym, a typing error.
import type { JsonObject } from '@beaver/core'
import { isRecord } from './json-text.ts'
import { propertiesOf, valueAt } from './schema-place.ts'
import { nearest, plainName, quote, quoteAll } from './wording.ts'

const otherWords: Readonly<Record<string, readonly string[]>> = {
  task: ['goal', 'query', 'question', 'objective', 'prompt', 'topic', 'request', 'description'],
  agents: ['nodes', 'workers', 'experts', 'members', 'team', 'agent', 'steps'],
  name: ['id', 'agent', 'agent_name', 'title', 'key'],
  instruction: ['instructions', 'prompt', 'system_prompt', 'description', 'task', 'goal', 'role'],
  use_skill: ['skill', 'skill_name'],
  skill_query: ['skills'],
  allowed_tool_names: ['tools', 'allowed_tools', 'tool_names', 'tool'],
  required_evidence: ['evidence', 'requirements'],
  edges: ['links', 'connections', 'dependencies', 'graph', 'depends_on'],
  output_agent: ['output', 'final_agent', 'result_agent', 'sink', 'output_node', 'final'],
  allow_disconnected: ['disconnected'],
  flow: ['workflow', 'sequence', 'order', 'pipeline', 'steps', 'edges'],
  aggregator: ['synthesizer', 'merger', 'judge', 'summarizer', 'reducer', 'aggregator_agent'],
}

/** The member of `fields` that `written` probably means. `null` if none is near. */
function fieldMeant(written: string, fields: readonly string[]): string | null {
  const wanted = plainName(written)
  const same = (word: string): boolean => plainName(word) === wanted
  return (
    fields.find(same) ??
    fields.find((field) => otherWords[field]?.some(same) === true) ??
    nearest(written, fields)
  )
}

/**
 * For a missing field: `"prompt" is not a field here: was "instruction" meant? Write "instruction": "…".`
 * Empty if no field seems to mean it.
 */
export function renamedAdvice(field: string, object: unknown, known: readonly string[]): string {
  if (!isRecord(object)) return ''
  const missing = known.filter((each) => object[each] === undefined)
  const unknown = Object.keys(object).filter((key) => !known.includes(key))
  const written = unknown.find((key) => fieldMeant(key, missing) === field)
  if (written === undefined) return ''
  return `${quote(written)} is not a field here: was ${quote(field)} meant? Write ${quote(field)}: ${quote(object[written])}.`
}

const waiting = [
  'depends_on',
  'dependencies',
  'depends',
  'after',
  'inputs',
  'input',
  'needs',
  'requires',
  'previous',
  'parents',
  'next',
  'outputs_to',
  'edges',
  'upstream',
]

interface UnknownField {
  /** The path of the object with the field. */
  readonly at: readonly PropertyKey[]
  readonly args: Readonly<Record<string, unknown>>
  /** The fields of that object. */
  readonly known: readonly string[]
  /** The schema of all arguments. */
  readonly top: JsonObject
}

/** What to do with an unknown field. */
export function unknownFieldAdvice(key: string, { at, args, known, top }: UnknownField): string {
  const holder = valueAt(args, at)
  const missing = known.filter((each) => valueAt(holder, [each]) === undefined)
  const meant = fieldMeant(key, missing)
  if (meant !== null)
    return `Did you mean ${quote(meant)}? Write ${quote(meant)}: ${quote(valueAt(holder, [key]))}.`
  const fields = known.length === 0 ? '' : `; the fields here are ${quoteAll(known)}`
  if (
    at.length > 0 &&
    known.includes('instruction') &&
    waiting.some((word) => plainName(word) === plainName(key))
  ) {
    const tools = propertiesOf(top, args)
    const where =
      'edges' in tools
        ? 'by "edges"'
        : 'flow' in tools
          ? 'by "flow"'
          : 'by the workflow itself (GraphWorkflow takes edges)'
    return `Remove it: which agent waits for which is said ${where}.`
  }
  return `Remove it${fields}.`
}
