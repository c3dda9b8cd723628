// Messages of a stranger: what somebody may publish on any subject of Beaver.
import { event, type LogId } from '@beaver/core'
import { draft, emptyHead, joinBatch, seal } from '@beaver/core/journal'
import { headers, type MsgHdrs } from '@nats-io/nats-core'

export interface Garbage {
  readonly name: string
  readonly payload: Uint8Array
  readonly headers?: MsgHdrs
  /** Whether the message is a batch of records, although of another task or in a wrong place. */
  readonly records?: true
}

const strange = headers()
for (const [name, value] of [
  ['Nats-Scheduler', 'beaver'],
  ['Nats-Sequence', 'seven'],
  ['Nats-Time-Stamp', '\u0001'],
  ['Status', '503'],
  ['Beaver-Signature', 'x'.repeat(4_000)],
] as const)
  strange.append(name, value)

/** A claim of another task, which is sealed correctly. */
const ofAnother = joinBatch([
  seal(emptyHead, draft(event('task_claimed', { daemon: 'stranger' })), {
    epoch: 1,
    source: '/stranger',
    subject: 'another',
    time: '2026-05-04T08:00:00.000Z',
  }).record,
])

export const garbage: readonly Garbage[] = [
  { name: 'nothing', payload: Buffer.from('') },
  { name: 'text', payload: Buffer.from('garbage') },
  {
    name: 'JSON of another shape',
    payload: Buffer.from('{"daemon":7,"command":"no such command","reason":null}'),
  },
  { name: 'a list of something else', payload: Buffer.from('[{}]') },
  { name: 'null', payload: Buffer.from('null') },
  { name: 'a record of another task', payload: ofAnother, records: true },
  { name: 'lists that are nested deeply', payload: Buffer.from('['.repeat(100_000) + ']'.repeat(100_000)) },
  {
    name: 'objects that are nested deeply',
    payload: Buffer.from('{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000)),
  },
  { name: 'bytes that are not UTF-8', payload: Uint8Array.from({ length: 300 }, (_, i) => i % 256) },
  { name: 'almost a megabyte', payload: Buffer.alloc(1024 * 1024 - 8_192, 'x') },
  { name: 'strange headers', payload: Buffer.from('garbage'), headers: strange },
  {
    name: 'a prototype',
    payload: Buffer.from('{"__proto__":{"daemon":"x"},"constructor":{"prototype":{}}}'),
  },
]

/** 27 kB of JSON whose nine thousand values are all no records. */
export const manyFaults = Buffer.from(JSON.stringify(Array.from({ length: 9_000 }, () => ({}))))

let logs = 0
export const strangeLog = (): LogId =>
  ({ tenant: 'local', session: `stranger${++logs}`, task: `stranger${logs}` }) as LogId
