import type { LogId } from '@beaver/core'
import { cleanTaint } from '@beaver/core/taint'
import { expect, it } from 'vitest'
import { rootSpec } from './loop-specs.ts'

const log = { tenant: 'local', session: 's', task: 't' } as LogId
const request = { text: 'x', workspace: '/w', skill: null, source: 'test' }
const of = {
  runId: 'run_1',
  history: [{ role: 'user', content: 'of the session' }],
  taint: cleanTaint,
  toolIterationsMax: 1,
  repeatsMax: 5,
  resume: null,
} as const

it('a root is given the history of the client behind that of the session, and what the client asks besides', () => {
  const history = [{ role: 'assistant' as const, content: 'of the client' }]
  const spec = rootSpec(log, { ...request, history, instructions: 'Be brief.' }, of)
  expect([spec.history, spec.part]).toMatchObject([
    [{ content: 'of the session' }, { content: 'of the client' }],
    { instructions: 'Be brief.' },
  ])
})

it('a history of the client is not public, and without one nothing is recorded', () => {
  const withHistory = rootSpec(log, { ...request, history: [{ role: 'user', content: 'x' }] }, of)
  expect([withHistory.start.taint, rootSpec(log, request, of).start.taint]).toEqual([
    { ...cleanTaint, public: false },
    undefined,
  ])
})

it('a run has the bound of turns that are the same, unless there is none', () => {
  const none = rootSpec(log, request, { ...of, repeatsMax: null })
  expect(rootSpec(log, request, of).start.repeats_max).toBe(5)
  expect(none.start).not.toHaveProperty('repeats_max')
})
