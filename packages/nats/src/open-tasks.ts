// The OpenTasks port, asked of the projector: its query `open_tasks`.
import { BeaverError, type OpenTasks } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { call } from './rpc.ts'
import type { Subjects } from './subjects.ts'

const answerMsMax = 5_000

const found = z.object({
  tasks: z.array(z.object({ session_id: z.string(), task_id: z.string(), owner: z.string().nullable(), taskseq: z.number() })),
})

export function natsOpenTasks(nc: NatsConnection, subjects: Subjects): OpenTasks {
  return {
    async list({ tenant, owner, idleMsMin, limit }) {
      const request = { tenant, needs_daemon: true, idle_ms_min: idleMsMin, limit, ...(owner === undefined ? {} : { owner }) }
      const parsed = found.safeParse(await call(nc, subjects.query('open_tasks'), request, { timeoutMs: answerMsMax, whom: 'projector' }))
      if (!parsed.success) throw new BeaverError('internal', `The projector answered in an unknown shape: ${z.prettifyError(parsed.error)}`)
      return parsed.data.tasks
    },
  }
}
