import type { CallDescription, ExternalTools, PermissionRule } from '@beaver/agent'
import { describe, expect, it } from 'vitest'
import { argumentsJudge } from './daemon.ts'

const described: CallDescription = {
  subject: 'prod',
  unreadable: null,
  inputFault: null,
  preview: null,
  refused: null,
}
const deny: PermissionRule = { tool: 'deploy', pattern: 'prod', decision: 'deny' }

/** The tool `deploy` of another process, which says of each call what it acts on. */
function judge(told: Partial<CallDescription>, rules: readonly PermissionRule[] = [deny]) {
  const parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }
  const external: ExternalTools = {
    tools: [
      {
        name: 'deploy',
        description: 'Deploys.',
        parameters,
        idempotent: false,
        permission: 'ask',
        describes: true,
      },
    ],
    describe: async () => ({ ...described, ...told }),
    onChange: () => () => {},
    call: () => Promise.reject(new Error('Nothing is called.')),
  }
  return argumentsJudge({ toolNamed: () => null }, { external, rules })
}
const args = (to: unknown): { name: string; arguments: string } => ({
  name: 'deploy',
  arguments: JSON.stringify({ to }),
})

describe('changed arguments of a tool that describes its calls', () => {
  it('are judged by the rules, with what the call would act on', async () => {
    expect(await judge({})(args('prod'))).toMatch(/^This rule forbids it: .*deploy/)
    expect(await judge({ subject: 'test' })(args('test'))).toBeNull()
    expect(await judge({}, [])(args('prod'))).toBeNull()
  })

  it('are refused with the words of the tool, and with those of its schema', async () => {
    expect(await judge({ refused: { code: 'closed', message: 'It is closed.' } })(args('test'))).toBe(
      'It is closed.',
    )
    expect(await judge({ inputFault: 'There is no such place.' })(args('test'))).toBe(
      'There is no such place.',
    )
    expect(await judge({})(args(7))).toContain('to')
  })

  it('are left to the loop if nobody knows here what the call would act on', async () => {
    expect(await judge({ subject: null, unreadable: 'the run is not known' })(args('prod'))).toBeNull()
  })
})
