// A journal that a real system wrote, exported: a tool loop, two teams, approvals, a suspension, a retry, a
// session, a cancel, a text that steers, a blob, a killed daemon. And a way to change an export so that its
// chains hold still. `resealed` numbers, chains and hashes every log anew: only what the change means is
// wrong, never the form. `signedAnew` signs every message as its writer did. It needs the keys of the home in
// which the journal was written.
import { createHash } from 'node:crypto'
import { exportLines, natsSource } from '@beaver/check'
import { AgentTeam } from '@beaver/client'
import { canonicalJson, type KeyStore, type LogId } from '@beaver/core'
import { leafContent, type SigningKey, signTree } from '@beaver/core/journal'
import { held, until } from '@beaver/testing'
import { type FakeReply, refuse, say, type SeenRequest, use } from './fake-provider.ts'
import { only, type TestSystem } from './system.ts'

export const recordedConfig = {
  permissions: { rules: [{ tool: 'echo', pattern: '*careful*', decision: 'ask' }] },
}

/** Runs the tasks, each named after what it shows, on daemons of the system. */
export async function recordTasks(system: TestSystem): Promise<void> {
  const slow = held<FakeReply>()
  let frail = true
  system.provider.answerBy((request) =>
    frail && agentOf(request) === 'frail' ? refuse(401, 'no') : answerTo(request, slow.promise),
  )
  const first = await system.daemon()
  const submit = (task: string, session_id = `${task} session`): Promise<unknown> =>
    system.client.submit({ task, task_id: task, session_id })
  await Promise.all(
    [
      'loop',
      'team',
      'granted',
      'denied',
      'suspended',
      'large',
      'cancelled',
      'taken over',
      'measured team',
      'retried',
    ].map((task) => submit(task)),
  )
  await system.client.submit({
    task: 'measured',
    task_id: 'measured',
    session_id: 'measured session',
    required_evidence: [total, words],
  })
  for (const task of ['one', 'two', 'three']) await submit(task, 'talk')
  await Promise.all(
    ['granted', 'denied'].map((task) =>
      system.reached(task, 'a call waits', (events) => only(events, 'approval_requested').length === 1),
    ),
  )
  await system.client.decide('granted', { callId: 'call_0', approved: true })
  await system.client.decide('denied', { callId: 'call_0', approved: false, reason: 'no' })
  await system.reached(
    'suspended',
    'nobody drives it',
    (events) => only(events, 'task_suspended').length === 1,
  )
  await system.client.decide('suspended', { callId: 'call_0', approved: true })
  await until(
    'both are asked',
    () => ['cancelled', 'taken over'].every((text) => system.provider.about(text).length === 1),
    { everyMs: 5 },
  )
  await system.client.cancel('cancelled', 'enough')
  await system.client.steer('taken over', 'Faster.')
  await new AgentTeam(system.client, { members: ['worker', 'checker'] }).run('Do it.')
  await Promise.all(
    [
      'loop',
      'team',
      'granted',
      'denied',
      'suspended',
      'large',
      'cancelled',
      'three',
      'measured',
      'measured team',
    ].map((task) => system.ended(task)),
  )
  await system.ended('retried')
  frail = false
  await system.ended((await system.client.retry('retried')).task_id)
  await system.kill(first)
  await system.daemon()
  slow.settle(say('late'))
  await system.ended('taken over')
}

const total = { kind: 'output_value' as const, path: '/total', equals: 3 }
const words = { kind: 'output_contains' as const, path: '/says/0', texts: ['three'] }
const measured = {
  task: 'the whole',
  agents: [{ name: 'm', instruction: 'measure', required_evidence: [total], validation_rules: [words] }],
}

const agents = ['a', 'b', 'c'].map((name) => ({ name, instruction: `do ${name}` }))
const plan = { plan: [{ member: 'worker', task: 'first' }, { member: 'checker', task: 'second', depends_on: ['worker'] }] } // prettier-ignore

const agentOf = ({ messages }: Pick<SeenRequest, 'messages'>): string | undefined =>
  /^- agent: (.+)$/m.exec(messages[0]?.content ?? '')?.[1]

function answerTo(request: SeenRequest, slow: Promise<FakeReply>): FakeReply | Promise<FakeReply> {
  const { text, results } = request
  if (agentOf(request) === 'Coordinator')
    return say(text.includes('worker #1') || /second|worked/.test(text) ? 'all done' : JSON.stringify(plan))
  if (text.includes('measure')) return measuredAnswer(text, results.length)
  if (text.includes('<instruction ')) return say('worked')
  switch (text) {
    case 'loop':
      return results.length < 2 ? use(['echo', { text: `step ${results.length}` }]) : say('looped')
    case 'team':
      return results.length === 0
        ? use(['SequentialWorkflow', { task: 'the whole', agents }])
        : say('as the team says')
    case 'retried':
      return results.length === 0
        ? use([
            'SequentialWorkflow',
            { task: 'the whole', agents: [...agents, { name: 'frail', instruction: 'do it' }] },
          ])
        : say('as it says')
    case 'granted':
    case 'denied':
    case 'suspended':
      return results.length === 0 ? use(['echo', { text: 'careful' }]) : say('decided')
    case 'large':
      return say('x'.repeat(70_000))
    case 'cancelled':
      return held<FakeReply>().promise
    case 'taken over':
      return slow
    default:
      return say(`answer to ${text}`)
  }
}

/** The root of `measured team` has the work measured. Everybody else measures. */
function measuredAnswer(text: string, results: number): FakeReply {
  if (text === 'measured team')
    return results === 0 ? use(['SequentialWorkflow', measured]) : say('as the team says')
  return say('```json\n{ "total": 3, "says": ["it is three"] }\n```')
}

export async function exported(system: TestSystem): Promise<string[]> {
  const { namespace, stream, blobBucket } = system.subjects
  const lines: string[] = []
  const source = await natsSource(system.nc, { namespace, stream, blobBucket })
  for await (const line of exportLines(source, new Date().toISOString())) lines.push(line)
  return lines
}

/** A record of a journal, open to any change. */
export interface LooseRecord {
  type: string
  epoch: number
  taskseq: number
  source: string
  subject: string
  id: string
  prevhash: string
  hash: string
  runid?: string
  dataref?: string
  /** Of a record whose data is in a blob: undefined. */
  data: Record<string, unknown>
}

export interface LooseMessage {
  seq: number
  time: string
  subject: string
  /** `null`: it is no entry of a log, and stays as it is. */
  records: LooseRecord[] | null
  payload: string
  signature?: string
}

export interface LooseExport {
  header: Record<string, unknown>
  messages: LooseMessage[]
  blobs: { blob: string; sha256: string; base64: string }[]
}

/** An event of a recorded journal, and where it is. */
export interface At {
  readonly message: LooseMessage
  readonly records: LooseRecord[]
  readonly index: number
  readonly record: LooseRecord
}

/** The type of a task's event on the wire. */
export const wire = (type: string): string => `beaver.${type}.v1`

/** The `nth` event of a type in the log of a task, from 0; -1 is the last. */
export function at({ messages }: LooseExport, task: string, type: string, nth = 0): At {
  const all = messages.flatMap((message) =>
    (message.records ?? []).flatMap((record, index): At[] =>
      record.subject === task && record.type === wire(type)
        ? [{ message, records: message.records ?? [], index, record }]
        : [],
    ),
  )
  const found = all.at(nth)
  if (found === undefined) throw new Error(`The recorded journal has no ${type} ${nth} of ${task}.`)
  return found
}

export function parsed(lines: readonly string[]): LooseExport {
  const [header, ...rest] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const messages = rest.filter((line) => 'seq' in line) as unknown as LooseMessage[]
  for (const message of messages) {
    const content: unknown = JSON.parse(message.payload)
    message.records = Array.isArray(content) ? (content as LooseRecord[]) : null
  }
  return {
    header: header ?? {},
    messages,
    blobs: rest.filter((line) => 'blob' in line) as unknown as LooseExport['blobs'],
  }
}

/** The lines of a changed export, as it stands. */
export function written({ header, messages, blobs }: LooseExport): string[] {
  const lines = messages.map(({ records, payload, ...message }) =>
    JSON.stringify({ ...message, payload: records === null ? payload : canonicalJson(records) }),
  )
  return [JSON.stringify(header), ...lines, ...blobs.map((blob) => JSON.stringify(blob))]
}

const logOf = (subject: string): string => subject.replace(/\.(accepted|events)$/, '')

/** Numbers the messages anew, and chains each log anew. */
export function resealed(changed: LooseExport): LooseExport {
  const heads = new Map<string, { taskseq: number; hash: string }>()
  for (const [i, message] of changed.messages.entries()) {
    message.seq = i + 1
    for (const record of message.records ?? []) {
      const log = logOf(message.subject)
      const head = heads.get(log) ?? { taskseq: 0, hash: '0'.repeat(64) }
      record.taskseq = head.taskseq + 1
      record.id = `${record.subject}/${record.epoch}.${record.taskseq}`
      record.prevhash = head.hash
      const { hash: _, ...hashed } = record
      record.hash = createHash('sha256').update(canonicalJson(hashed)).digest('hex')
      heads.set(log, record)
    }
  }
  changed.header['last_sequence'] = changed.messages.length
  return changed
}

/** The log of a message, as a signature names it. */
function signedLogOf({ subject }: LooseMessage): LogId | 'keys' | 'redactions' | 'checkpoints' {
  const [, , area, tenant = '', session = '', task = ''] = subject
    .split('.')
    .map((token) => decodeURIComponent(token.replaceAll('=', '%')))
  return area === 'system' ? (session as 'keys') : ({ tenant, session, task } as LogId)
}

/** The name of the journal to which signatures are bound. */
function journalName({ header, messages }: LooseExport): string {
  const first = messages.find((message) => message.subject.endsWith('.keys'))?.records?.[0]
  return `${String(header['stream'])}/${first?.hash ?? ''}`
}

/** Signs one message alone, by default for its own log and its own journal. */
export function sign(
  changed: LooseExport,
  message: LooseMessage,
  { key, log, journal }: { key: SigningKey; log?: LogId; journal?: string },
): void {
  const of = log ?? signedLogOf(message)
  const hash = message.records?.at(-1)?.hash
  if (hash === undefined) return
  const name = journal ?? (of === 'keys' ? String(changed.header['stream']) : journalName(changed))
  message.signature = signTree(key, name, [leafContent(of, hash)])[0] as string
}

/** Signs every message that was signed. */
export function signedAnew(
  changed: LooseExport,
  keys: KeyStore,
  keeps: (message: LooseMessage) => boolean = () => false,
): LooseExport {
  const keyOf = (message: LooseMessage): SigningKey => {
    const log = signedLogOf(message)
    return typeof log === 'string' && log !== 'checkpoints'
      ? keys.makeOperator()
      : keys.own(log === 'checkpoints' ? 'projector' : 'daemon')
  }
  for (const message of changed.messages)
    if (message.signature !== undefined && !keeps(message)) sign(changed, message, { key: keyOf(message) })
  return changed
}
