// `beaver quarantine`: shows the messages of the journal that are no records. Nothing removes them, because
// an archive takes only the messages of tasks.
import type { QueryOutput } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import type { Context, GlobalOptions } from '../context.ts'
import { count, counted } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { table } from '../text/table.ts'
import { ask, asking } from './query.ts'

export interface QuarantineOptions {
  readonly limit?: number
  readonly json?: true
}

type Message = QueryOutput<'quarantine'>['messages'][number]

/** @param sequence the number of the message to show. Absent: the messages are listed */
export async function quarantine(
  sequence: number | undefined,
  { limit = 20, json }: QuarantineOptions,
  globals: GlobalOptions,
): Promise<number> {
  return asking(globals, async ({ screen }, connection) => {
    const found = await ask(connection, 'quarantine', sequence === undefined ? { limit } : { sequence })
    const [message] = found.messages
    if (sequence !== undefined && message === undefined)
      throw new BeaverError(
        'not_found',
        `Message ${sequence} of the journal is not in quarantine. "beaver quarantine" lists the messages that are.`,
      )
    if (json === true) screen.json(sequence === undefined ? found : (message ?? {}))
    else if (sequence === undefined || message === undefined) screen.print(...listLines(found, screen))
    else screen.print(...messageLines(message, screen))
  })
}

function listLines(
  { total, messages }: QueryOutput<'quarantine'>,
  { columns, style }: Context['screen'],
): string[] {
  if (total === 0) return ['No message is in quarantine.']
  const lines = table(
    [
      { title: 'MESSAGE', cell: (row) => count(row.sequence), align: 'right' },
      { title: 'BYTES', cell: (row) => count(row.bytes), align: 'right' },
      { title: 'PUBLISHED AS', cell: placeOf },
      { title: 'WHY', cell: (row) => oneLine(row.reason), flexible: true },
    ],
    messages,
    { width: columns, title: style.dim },
  )
  const more = total - messages.length
  return [
    ...lines,
    '',
    `${counted(total, 'message')} in quarantine${more > 0 ? `, ${count(more)} more with --limit` : ''}. Show one: beaver quarantine <message>`,
  ]
}

const placeOf = ({ subject, session_id: session, task_id: task }: Message): string =>
  oneLine(subject ?? `the log of ${task ?? ''} in ${session ?? ''}`, 120)

function messageLines(message: Message, { style }: Context['screen']): string[] {
  const field = (name: string, value: string): string => `${style.dim(name.padEnd(10))}${value}`
  const shown = plainText(message.excerpt)
  const rest =
    message.bytes > Buffer.byteLength(message.excerpt)
      ? [style.dim(`… ${count(message.bytes)} bytes in all. The journal keeps the whole message.`)]
      : []
  return [
    field('message', `${count(message.sequence)} of the journal`),
    field('published', `as ${placeOf(message)}`),
    field('why', oneLine(message.reason)),
    field('sha256', message.sha256),
    '',
    ...shown.split('\n'),
    ...rest,
  ]
}
