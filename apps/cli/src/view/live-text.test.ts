import type { LiveDelta, LiveProgress } from '@beaver/core'
import type { AgentView } from '@beaver/core/task-view'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { liveText } from './live-text.ts'

const piece = (offset: number, text: string, call = 1, run_id = 'run_root'): LiveDelta => ({
  run_id,
  agent_name: 'root',
  node_id: null,
  call,
  offset,
  text,
})
const answered = log.recorded([log.answers('run_root')])[0]!

describe('what an agent is saying', () => {
  test('grows by its pieces, and is gone when the answer is in the journal', () => {
    const said = liveText()
    said.update(piece(0, 'Once '))
    said.update(piece(5, 'upon'))
    expect(said.of('run_root')).toBe('Once upon')
    said.event(answered)
    expect(said.of('run_root')).toBeNull()
  })

  test('is not begun again by a piece that comes after its answer', () => {
    const said = liveText()
    said.event(answered)
    said.update(piece(9, ' a time'))
    expect(said.of('run_root')).toBeNull()
    said.update(piece(0, 'Next', 2))
    expect(said.of('run_root')).toBe('Next')
  })

  test('shows where pieces were lost, begins again with offset 0, and takes no piece twice', () => {
    const said = liveText()
    said.update(piece(100, 'in the middle'))
    expect(said.of('run_root')).toBe(' … in the middle')
    said.update(piece(0, 'Again'))
    said.update(piece(0, 'Again'))
    said.update(piece(2, 'ain'))
    expect(said.of('run_root')).toBe('Again')
  })

  test('is forgotten when its run or its call fails', () => {
    const said = liveText()
    said.update(piece(0, 'half'))
    said.event(log.recorded([log.failedCall('run_root')])[0]!)
    expect(said.of('run_root')).toBeNull()
  })

  test('keeps the end of a long answer only', () => {
    const said = liveText()
    said.update(piece(0, 'x'.repeat(10_000)))
    said.update(piece(10_000, 'the end'))
    expect(said.of('run_root')).toHaveLength(4_000)
    expect(said.of('run_root')).toMatch(/xthe end$/)
  })

  test('is bounded, whatever comes in whatever order', () => {
    const pieces = fc.record({
      offset: fc.nat(20_000),
      text: fc.string({ maxLength: 9_000 }),
      call: fc.integer({ min: 1, max: 3 }),
      run: fc.nat(2_000),
    })
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (all) => {
        const said = liveText()
        for (const { offset, text, call, run } of all) said.update(piece(offset, text, call, `r${run}`))
        for (const { run } of all) expect((said.of(`r${run}`) ?? '').length).toBeLessThanOrEqual(4_000)
      }),
      { numRuns: 50 },
    )
  })
})

describe('how far the calls of an agent are', () => {
  const progress = (
    call_id: string,
    done: number,
    message: string | null = null,
    run_id = 'run_root',
  ): LiveProgress => ({
    ...{ run_id, agent_name: 'root', node_id: null, call_id, tool_name: 'deploy' },
    ...{ progress: done, total: 4, message },
  })
  const events = log.recorded([
    log.runStarted('run_root', 'root'),
    log.calls('run_root', 'deploy'),
    log.result('run_root', 'deploy'),
  ])
  /** The root agent after this many events. */
  const after = (count: number) => log.foldView(events.slice(0, count)).root as AgentView

  test('is the newest of each open call, also if it comes before the event of its call', () => {
    const said = liveText()
    said.update(progress('run_root.deploy', 1))
    expect(said.progressOf(after(1))).toBeNull()
    said.event(events[1]!)
    expect(said.progressOf(after(2))).toBe('deploy 25%')
    said.update(progress('run_root.deploy', 2, 'Builds\n\u001B[2J it.'))
    said.update(progress('unknown', 3))
    expect(said.progressOf(after(2))).toBe('deploy 50% · Builds it.')
    said.event(events[2]!)
    expect(said.progressOf(after(2))).toBeNull()
    expect(said.progressOf(after(3))).toBeNull()
  })

  test('is bounded: the oldest is forgotten', () => {
    const said = liveText()
    said.update(progress('run_root.deploy', 1))
    for (let i = 0; i < 10_000; i++) said.update(progress(`c${i}`, 1))
    expect(said.progressOf(after(2))).toBeNull()
    said.update(progress('run_root.deploy', 2))
    expect(said.progressOf(after(2))).toBe('deploy 50%')
  })
})
