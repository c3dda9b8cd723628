// The OpenTasks port. It asks the projector with the query `open_tasks`.
import type { OpenTasks } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { askProjector } from './ask-by-contract.ts'
import type { Subjects } from './subjects.ts'

const answerMsMax = 5_000

export function natsOpenTasks(nc: NatsConnection, subjects: Subjects): OpenTasks {
  return {
    async list({ tenant, owner, idleMsMin, limit }) {
      const input = {
        tenant,
        needs_daemon: true,
        idle_ms_min: idleMsMin,
        limit,
        ...(owner === undefined ? {} : { owner }),
      }
      return (await askProjector({ nc, subjects, timeoutMs: answerMsMax }, 'open_tasks', input)).tasks
    },
  }
}
