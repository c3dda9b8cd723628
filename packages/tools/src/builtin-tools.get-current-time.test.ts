import { executeTool, type ToolResult } from '@beaver/agent'
import { systemClock } from '@beaver/core'
import { toolContext } from '@beaver/testing'
import { expect, it } from 'vitest'
import { getCurrentTime } from './builtin-tools.ts'

const at = { now: () => Date.parse('2026-12-31T23:30:05.000Z') }
const call = (args: object, timeZone?: string): Promise<ToolResult> =>
  executeTool(
    getCurrentTime(at),
    { name: 'get_current_time', arguments: JSON.stringify(args) },
    toolContext(timeZone === undefined ? {} : { timeZone }),
    {
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      clock: systemClock,
    },
  )

it.each([
  [{}, undefined, { time_zone: 'UTC', date: '2026-12-31', time: '23:30:05', weekday: 'Thursday' }],
  [{}, 'Asia/Tokyo', { time_zone: 'Asia/Tokyo', date: '2027-01-01', time: '08:30:05', weekday: 'Friday' }],
  [
    { time_zone: 'America/New_York' },
    'Asia/Tokyo',
    { time_zone: 'America/New_York', date: '2026-12-31', time: '18:30:05', weekday: 'Thursday' },
  ],
])('%j for a user in %s', async (args, zone, shown) => {
  expect(JSON.parse((await call(args, zone)).content)).toEqual({ ...shown, utc: '2026-12-31T23:30:05.000Z' })
})

it('refuses a time zone that does not exist', async () => {
  expect(await call({ time_zone: 'Mars/Olympus' })).toMatchObject({
    success: false,
    error: 'invalid_arguments',
  })
})
