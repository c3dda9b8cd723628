// docs/reference/wire.md as text: every subject with what goes over it, from the same tables as the code. The
// same tables give the same page. A subject is built by @beaver/nats, and its ids are replaced by their
// names.
import { type WireEntry, wireEntries, type WireKind, type WireSchema } from '@beaver/contracts/wire'
import { type LogId, sessionId, taskId } from '@beaver/core'
import { subjectsOf } from '@beaver/nats'

const log: LogId = { tenant: 'TENANT', session: sessionId.parse('SESSION'), task: taskId.parse('TASK') }
const subjects = subjectsOf('NAMESPACE', { tenant: 'TENANT', caller: 'CALLER' })
const shown = (subject: string): string =>
  `\`${subject.replace('NAMESPACE', '<namespace>').replace('TENANT', '<tenant>').replace('SESSION', '<session_id>').replace('TASK', '<task_id>').replace('DAEMON', '<daemon>').replace('CALLER', '<caller>').replace('CHANNEL', '<channel>').replace('CHAT', '<chat_id>').replace('KIND', '<kind>')}\``

const channelSubjects: Readonly<Record<string, string | null>> = {
  webhook: null,
  inbound: subjects.channelLane('inbound', 'CHANNEL', 'CHAT', 'KIND'),
  outbound: subjects.channelLane('outbound', 'CHANNEL', 'CHAT', 'message'),
}
const liveSubjects: Readonly<Record<string, string>> = {
  live: subjects.live(log),
  progress: subjects.live(log),
  ended: subjects.ended(log),
  changed: subjects.changed,
}

/** The whole page. */
export function wireReference(): string {
  const entries = wireEntries()
  const of = (kind: WireKind): WireEntry[] => entries.filter((entry) => entry.kind === kind)
  const shapes = shapesOf(entries)
  const parts = [
    ...introduction,
    '## Requests',
    'Any daemon answers. If no daemon runs, a request ends at once with "no responders".',
    ...of('request').flatMap((entry) => section(entry, subjects.service(entry.name))),
    '## Queries',
    'The projector answers. [Audit a task](../how-to/audit.md) says what each query is for.',
    ...of('query').flatMap((entry) => section(entry, subjects.query(entry.name))),
    '## Live messages',
    'These are core NATS messages, and no stream keeps them. Subscribe before you submit the task.',
    ...of('live').flatMap((entry) => section(entry, liveSubjects[entry.name] ?? '')),
    '## Channels',
    '[Use channels](../how-to/use-channels.md) shows them. Only a gateway and an operator may use the subjects.',
    ...of('channel').flatMap((entry) => section(entry, channelSubjects[entry.name] ?? null)),
    '## Events',
    `The journal of the tenant \`local\` is the stream \`${subjectsOf('NAMESPACE').stream.replace('NAMESPACE', '<namespace>')}\`; any other tenant has a stream of its own. The first entry of a log has the subject ${shown(subjects.accepted(log))}, all later ones ${shown(subjects.events(log))}. Each message is a JSON array of CloudEvents; \`type\` is \`beaver.<event>.v1\`, and \`data\` has the fields below.`,
    ...of('event').flatMap((entry) => section(entry, null)),
    '## Between daemons',
    'These messages are for the daemons and may change with any version. A command goes to the subject of one daemon.',
    ...of('daemon').flatMap((entry) =>
      section(entry, entry.name === 'presence' ? subjects.presence : subjects.daemon('DAEMON')),
    ),
    '## Shapes',
    'Several answers use these shapes.',
    ...[...shapes].flatMap(([name, schema]) => [
      `### Shape ${name}`,
      ...sentence(schema['description']),
      ...fieldTable(schema),
    ]),
  ]
  return `${parts.join('\n\n')}\n`
}

const introduction = [
  '# Wire reference',
  '`pnpm docs:wire` generates this page from `packages/contracts` and the catalogue of events; do not edit it. `beaver schema <name>` prints the JSON Schema (draft 2020-12) of each entry, and `beaver schema --json` all of them as one document. [Submit tasks](../how-to/submit-tasks.md) shows how to use them.',
  'A request and a query are core NATS requests with a JSON body. Every answer is `{"ok": true, "result": …}`, where `result` has the fields below, or `{"ok": false, "error": {"code", "message", "problems": [{"path", "message"}]}}` with a code of [errors.md](errors.md). Beaver refuses a request with a field that is not listed. A later version may add fields to an answer: ignore the fields that you do not know.',
  'Ids in a subject are tokens: letters, digits, `-` and `_` stay, and every other byte of the UTF-8 text is `=XX`.',
]

function section({ name, kind, says, schemas }: WireEntry, subject: string | null): string[] {
  const title = kind === 'event' ? name : `${kind[0]?.toUpperCase()}${kind.slice(1)} ${name}`
  const parts = Object.entries(schemas).flatMap(([role, schema]) =>
    Object.keys(schemas).length === 1
      ? fieldTable(schema)
      : [`${role[0]?.toUpperCase()}${role.slice(1)}:`, ...fieldTable(schema)],
  )
  return [`### ${title}`, ...(subject === null ? [] : [shown(subject)]), says, ...parts]
}

/** The named shapes of all entries; a name stands for one shape everywhere. */
function shapesOf(entries: readonly WireEntry[]): Map<string, WireSchema> {
  const shapes = new Map<string, WireSchema>()
  for (const entry of entries) {
    for (const schema of Object.values(entry.schemas)) {
      for (const [name, shape] of Object.entries(objectOf(schema['$defs']))) {
        if (name.startsWith('__')) continue
        const known = shapes.get(name)
        if (known !== undefined && unnumbered(known) !== unnumbered(shape))
          throw new Error(`Two shapes have the name ${name}.`)
        shapes.set(name, objectOf(shape))
      }
    }
  }
  return new Map([...shapes].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * A shape without the numbers that zod gives to shapes without a name, such as any JSON value. They differ
 * from entry to entry.
 */
const unnumbered = (shape: unknown): string => JSON.stringify(shape).replaceAll(/__schema\d+/g, '__schema')

function fieldTable(schema: WireSchema): string[] {
  const rows = [...fieldsOf(schema, '')]
  if (rows.length === 0) return ['No fields.']
  const lines = rows.map(({ path, type, need, says }) => `| \`${path}\` | ${type} | ${need} | ${says} |`)
  return [['| field | type | | meaning |', '|---|---|---|---|', ...lines].join('\n')]
}

interface FieldRow {
  readonly path: string
  readonly type: string
  readonly need: string
  readonly says: string
}

/** The fields of an object, and those of the objects in it, each by its path. */
function* fieldsOf(of: WireSchema, before: string): Generator<FieldRow> {
  const schema = unionOf(of)
  const required = new Set(listOf(schema['required']))
  for (const [name, value] of Object.entries(objectOf(schema['properties']))) {
    const field = objectOf(value)
    const path = `${before}${name}`
    const usual = field['default']
    const need =
      usual !== undefined ? `default \`${JSON.stringify(usual)}\`` : required.has(name) ? '' : 'optional'
    yield { path, type: typeOf(field), need, says: cell(textOf(field['description'])) }
    const held = heldObject(field)
    if (held !== null) yield* fieldsOf(held.schema, `${path}${held.list ? '[]' : ''}.`)
  }
}

/**
 * The fields of all alternatives as one object: what differs by alternative is one field, and what some of them
 * lack is optional. Any other schema stays as it is.
 */
function unionOf(schema: WireSchema): WireSchema {
  const several = listOf(schema['oneOf']).map(objectOf)
  if (several.length === 0 || several.some((each) => each['properties'] === undefined)) return schema
  const all = Map.groupBy(
    several.flatMap((each) => Object.entries(objectOf(each['properties']))),
    ([name]) => name,
  )
  const properties = [...all].map(([name, found]): [string, unknown] => {
    const fields = new Map(found.map(([, field]) => [JSON.stringify(field), objectOf(field)]))
    const [one, ...others] = fields.values()
    if (others.length === 0) return [name, one]
    const description = [...fields.values()].map((field) => textOf(field['description'])).join(' ')
    return [name, { oneOf: [...fields.values()], description }]
  })
  const required = [...all.keys()].filter((name) =>
    several.every((each) => listOf(each['required']).includes(name)),
  )
  return { properties: Object.fromEntries(properties), required }
}

/** The object that a field holds, itself or in a list; `null` for anything else. */
function heldObject(field: WireSchema): { readonly schema: WireSchema; readonly list: boolean } | null {
  const [alone] = withoutNull(field)
  if (alone === undefined || withoutNull(field).length > 1) return null
  if (alone['properties'] !== undefined) return { schema: alone, list: false }
  const items = objectOf(alone['items'])
  return items['properties'] === undefined ? null : { schema: items, list: true }
}

/** The alternatives of a schema, but for null. */
function withoutNull(schema: WireSchema): WireSchema[] {
  const several = listOf(schema['anyOf'] ?? schema['oneOf'])
  return several.length === 0 ? [schema] : several.map(objectOf).filter((each) => each['type'] !== 'null')
}

function typeOf(schema: WireSchema): string {
  const several = listOf(schema['anyOf'] ?? schema['oneOf']).map(objectOf)
  if (several.length > 0) return [...new Set(several.map(typeOf))].join(' or ')
  const shape = textOf(schema['$ref']).replace('#/$defs/', '')
  if (shape.startsWith('__')) return 'any JSON value'
  if (shape !== '') return `[${shape}](#shape-${shape})`
  if (schema['enum'] !== undefined)
    return listOf(schema['enum'])
      .map((value) => `\`${JSON.stringify(value)}\``)
      .join(' or ')
  if (schema['const'] !== undefined) return `\`${JSON.stringify(schema['const'])}\``
  if (Array.isArray(schema['type'])) return schema['type'].join(' or ')
  switch (schema['type']) {
    case 'array':
      return schema['items'] === undefined ? 'list' : `list of ${typeOf(objectOf(schema['items']))}`
    case 'object':
      return schema['properties'] === undefined ? 'object with any members' : 'object'
    case undefined:
      return 'any JSON value'
    default:
      return textOf(schema['type'])
  }
}

const sentence = (text: unknown): string[] => (textOf(text) === '' ? [] : [textOf(text)])
const cell = (text: string): string =>
  text
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
    .replaceAll(/<[a-z_]+>(?:[./]<[a-z_]+>)*/g, (ids) => `\`${ids}\``)
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const objectOf = (value: unknown): WireSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
