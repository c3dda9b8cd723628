// Given a server that tells how far a call is, when the call runs, then its caller hears it, and the time of
// the call is as long as without it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bench, until } from '../../test/kit.ts'

const told = [
  { progress: 1, total: 4, message: 'Reads.' },
  { progress: 2, total: 4 },
  { progress: 3.5, message: 'Writes.' },
]

describe.concurrent('the progress of a call', () => {
  it('reaches its caller, before the call has a result', async (test) => {
    const { start, raw, folder } = bench(test)
    const connections = await start({ slow: raw({ RAW_PROGRESS: JSON.stringify(told) }) })
    const heard: unknown[] = []
    const signal = new AbortController().signal
    const calling = connections.call(
      { name: 'slow_t0', callId: 'c', arguments: {} },
      signal,
      undefined,
      (update) => heard.push(update),
    )
    await until('the progress is there', () => heard.length === told.length)
    expect(heard).toEqual(told)
    writeFileSync(join(folder, 'finish'), '')
    expect(await calling).toMatchObject({ success: true, content: 'called' })
  })

  it('does not prolong its time', async (test) => {
    const { start, raw } = bench(test)
    const connections = await start({
      slow: raw({ RAW_PROGRESS: JSON.stringify(told) }, { timeout_ms: 300 }),
    })
    const calling = connections.call(
      { name: 'slow_t0', callId: 'c', arguments: {} },
      new AbortController().signal,
      undefined,
      () => {},
    )
    expect(await calling).toMatchObject({ success: false, error: 'tool_timeout' })
  })
})
