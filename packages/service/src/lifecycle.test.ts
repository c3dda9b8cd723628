import { describe, expect, it, test } from 'vitest'
import { mustAllow, type Operation, refusalOf, type ServiceState } from './lifecycle.ts'

const states: readonly ServiceState[] = ['idle', 'starting', 'running', 'stopping', 'stopped', 'closed']

describe('the states of a service', () => {
  test.each<[Operation, ServiceState[]]>([
    ['boot', ['idle', 'starting', 'running', 'stopping', 'stopped']],
    ['processDirect', ['idle']],
    ['start', ['idle', 'stopped']],
    ['submitDirect', ['running']],
    ['stop', ['running', 'stopping', 'stopped']],
    ['close', ['idle', 'stopped', 'closed']],
    ['result', ['idle', 'starting', 'running', 'stopping', 'stopped']],
  ])('allow %s in these states only: %j', (operation, allowed) => {
    expect(states.filter((state) => refusalOf(operation, state) === null)).toEqual(allowed)
  })

  it('refuse an operation with its name, the state, and what to call instead', () => {
    expect(() => mustAllow('processDirect', 'running')).toThrow(
      expect.objectContaining({
        code: 'wrong_state',
        message:
          'processDirect() is refused: this AgentService is running. In running mode tasks go through submitDirect().',
      }),
    )
    expect(() => mustAllow('submitDirect', 'idle')).toThrow('Call start() first')
    expect(() => mustAllow('close', 'running')).toThrow('Await stop() first, or call shutdown().')
  })
})
