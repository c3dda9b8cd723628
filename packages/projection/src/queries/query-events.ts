// `events`: the journal of one task as it was written. `image`: which of its events shows an image.
import type { EventItem } from '@beaver/contracts'
import { BeaverError, eventData, type JsonValue } from '@beaver/core'
import type { ImagePart } from '@beaver/core/images'
import { findTask, type FoundTask } from './find-task.ts'
import { eventsWanted, nodeOfEvent } from './of-node.ts'
import { page } from './page.ts'
import { archiveOf } from './redactions.ts'
import type { Query } from './query.ts'
import type { Sql } from '../store/sql.ts'

/** Larger data is left out of the answer, and `data_bytes` gives its size. */
const dataBytesMax = 512 * 1024

interface EventRow {
  readonly taskseq: number
  readonly epoch: number
  readonly type: string
  readonly run_id: string | null
  readonly node_id: string | null
  readonly time: string
  readonly data: string | null
  readonly blob_sha256: string | null
  readonly hash: string
  readonly sequence: number
}

/** The events between the places `after` and `before`, in the order that was asked for. */
export const events: Query<'events'> = (sql, input) => {
  const found = findTask(sql, input)
  const wanted = eventsWanted(sql, found, input)
  const rows = sql.each<EventRow>(
    `select events.*, ${nodeOfEvent} as node_id from events where ${wanted.where} limit ?`,
    [...wanted.values, input.limit + 1],
  )
  const { items, more, next } = page(rows, input.limit, { item: eventView, cursor: (row) => row.taskseq })
  return {
    task_id: found.task_id,
    session_id: found.session_id,
    tenant: found.tenant,
    chain_ok: isIntact(sql, found),
    events: items,
    ...archiveOf(sql, found.task_key),
    more,
    next,
  }
}

/** How each type of event refers to the images that it shows. A text of the task may name any hash. */
const imagesShown: Readonly<Record<string, (data: unknown) => readonly ImagePart[] | undefined>> = {
  task_submitted: (data) => eventData.task_submitted.safeParse(data).data?.request.images,
  user_message_added: (data) => eventData.user_message_added.safeParse(data).data?.images,
  tool_result_recorded: (data) => eventData.tool_result_recorded.safeParse(data).data?.images,
}

/** The first event of the task that shows the image. */
export const image: Query<'image'> = (sql, input) => {
  const found = findTask(sql, input)
  const rows = sql.each<{ taskseq: number; type: string; data: string }>(
    `select taskseq, type, data from events where task_key = ? and type in (select value from json_each(?))
       and instr(data, ?) > 0 order by taskseq`,
    [found.task_key, JSON.stringify(Object.keys(imagesShown)), input.sha256],
  )
  for (const { taskseq, type, data } of rows) {
    const shown = imagesShown[type]?.(JSON.parse(data))
    const one = shown?.find(({ sha256 }) => sha256 === input.sha256)
    if (one !== undefined)
      return {
        task_id: found.task_id,
        session_id: found.session_id,
        tenant: found.tenant,
        taskseq,
        image: one,
      }
  }
  throw new BeaverError('not_found', `The task ${found.task_id} shows no image ${input.sha256}.`)
}

const isIntact = (sql: Sql, { task_key: key }: FoundTask): boolean =>
  sql.one<{ chain_ok: number }>('select chain_ok from tasks where task_key = ?', [key]).chain_ok === 1

function eventView(row: EventRow): EventItem {
  const bytes = row.data === null ? 0 : Buffer.byteLength(row.data)
  return {
    taskseq: row.taskseq,
    type: row.type,
    epoch: row.epoch,
    time: row.time,
    run_id: row.run_id,
    node_id: row.node_id,
    data: row.data === null || bytes > dataBytesMax ? null : (JSON.parse(row.data) as JsonValue),
    data_bytes: bytes,
    blob_sha256: row.blob_sha256,
    hash: row.hash,
    sequence: row.sequence,
  }
}
