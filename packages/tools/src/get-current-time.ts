// get_current_time: the date and the time, in the time zone of the user or in another one (D-71).
import { defineTool, ToolInputError } from '@beaver/agent/tool-kit'
import { type Clock, isTimeZone, localTime, systemClock } from '@beaver/core'
import { z } from 'zod'

/** @param clock the clock that is read. Default: the clock of the operating system */
export const getCurrentTime = (clock: Pick<Clock, 'now'> = systemClock) =>
  defineTool({
    name: 'get_current_time',
    description: 'Returns the date and time now.',
    input: z.strictObject({ time_zone: z.string().max(64).optional() }),
    idempotent: true,
    effects: 'reads',
    run({ time_zone }, context) {
      const zone = time_zone ?? context.timeZone ?? 'UTC'
      if (!isTimeZone(zone))
        throw new ToolInputError(
          `There is no time zone ${JSON.stringify(zone)}. Use a name such as Europe/Zurich or UTC.`,
        )
      const now = clock.now()
      return { time_zone: zone, ...localTime(now, zone), utc: new Date(now).toISOString() }
    },
  })
