// Worker threads learn which tools a model provider refuses, and log it. The process that has the tools hears
// of it here, so that the doctor can say it.
import type { ExternalTools } from '@beaver/agent'
import type { Logger } from '@beaver/core'

type Refused = NonNullable<ExternalTools['refused']>

/** The same logger. `refused` is called for each line about a tool that a provider refuses. */
export function hearingRefusals(logger: Logger, refused: Refused): Logger {
  return {
    debug: (...line) => logger.debug(...line),
    info: (...line) => logger.info(...line),
    warn(event, message, fields = {}) {
      logger.warn(event, message, fields)
      const { tool, provider, reason } = fields
      if (
        event === 'tool_left_out' &&
        typeof tool === 'string' &&
        typeof provider === 'string' &&
        typeof reason === 'string'
      )
        refused(tool, { provider, says: reason })
    },
    error: (...line) => logger.error(...line),
    with: (fields) => hearingRefusals(logger.with(fields), refused),
  }
}
