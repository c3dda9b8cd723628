// Tells operators how a task ended.
import { type DomainEvent, type Logger, type LogId, taskFacts } from '@beaver/core'

export function tellEnd(
  { daemonId: daemon, logger }: { readonly daemonId: string; readonly logger: Logger },
  log: LogId,
  end: DomainEvent,
): void {
  if (
    end.type === 'task_completed' ||
    end.type === 'task_incomplete' ||
    end.type === 'task_failed' ||
    end.type === 'task_cancelled'
  )
    taskFacts.ended(logger, log, end, { daemon })
}
