import { describe, expect, it } from 'vitest'
import { graphOf, refuses } from '@beaver/testing'
import { agentTeam } from './agent-team.ts'
import { readTeamConfiguration, withMemberProfiles } from './configuration.ts'

const read = (json: unknown): { code: string; path: string } | null => {
  const result = readTeamConfiguration(json)
  return result.ok ? null : { code: result.error.code, path: result.error.path }
}

describe('a team file', () => {
  it('may name members by a name alone, and leave the message out', () => {
    expect(
      readTeamConfiguration({
        members: ['optimist', { name: 'sceptic', instruction: 'Doubt.' }],
        coordinator: 'chair',
      }),
    ).toEqual({
      ok: true,
      configuration: {
        members: [{ name: 'optimist' }, { name: 'sceptic', instruction: 'Doubt.' }],
        coordinator: { name: 'chair' },
      },
    })
  })

  it.each([
    [[], '', 'invalid_arguments'],
    ['{"members": ["a"]}', '', 'invalid_arguments'],
    [{ strategy: 'broadcast' }, 'members', 'invalid_arguments'],
    [{ members: [{ instruction: 'x' }] }, 'members.0.name', 'invalid_arguments'],
    [{ members: ['a'], membres: [] }, 'membres', 'invalid_arguments'],
    [{ members: ['a'], max_steps: 0 }, 'max_steps', 'invalid_arguments'],
    [{ members: [3] }, 'members.0', 'invalid_arguments'],
    [{ members: ['a'], tasks: ['x'] }, 'tasks', 'invalid_arguments'],
    [
      { members: ['a'], strategy: 'broadcast', aggregate: 'coordinator' },
      'coordinator',
      'aggregator_required',
    ],
  ])('is refused with the place of the fault: %j at %j', (json, path, code) => {
    expect(read(json)).toEqual({ code, path })
  })

  it('is not changed by reading it', () => {
    const json = Object.freeze({ members: Object.freeze(['a', 'b']) })
    expect(read(json)).toBeNull()
    expect(json).toEqual({ members: ['a', 'b'] })
  })
})

describe('a profile of a member', () => {
  const args = {
    message: 'm',
    strategy: 'sequential',
    members: ['a', { name: 'b', profile: 'analyst', system_prompt: 'Mine.' }],
    coordinator: { name: 'c', profile: 'analyst' },
  }
  const analyst = { system_prompt: 'You analyse.', allowed_tool_names: ['read_file'] }

  it('gives it what it does not say itself', () => {
    const resolved = withMemberProfiles(args, (name) => (name === 'analyst' ? analyst : null))
    expect(resolved).toEqual({
      ok: true,
      args: {
        ...args,
        members: [{ name: 'a' }, { name: 'b', system_prompt: 'Mine.', allowed_tool_names: ['read_file'] }],
        coordinator: { name: 'c', ...analyst },
      },
    })
    const built = graphOf(agentTeam.plan(resolved.ok && resolved.args))
    expect(built.nodes[1]).toMatchObject({
      agent: { system_prompt: 'Mine.' },
      allowed_tool_names: ['read_file'],
    })
  })

  it('is meant by a name alone, of a member and of the coordinator', () => {
    const named = {
      message: 'm',
      name: 'analyst',
      members: ['analyst', { name: 'b' }, { name: 'analyst 2', instruction: 'x' }],
      coordinator: 'analyst',
    }
    expect(withMemberProfiles(named, (name) => (name === 'analyst' ? analyst : null))).toEqual({
      ok: true,
      args: {
        message: 'm',
        name: 'analyst',
        members: [{ name: 'analyst', ...analyst }, { name: 'b' }, { name: 'analyst 2', instruction: 'x' }],
        coordinator: { name: 'analyst', ...analyst },
      },
    })
  })

  it('that does not exist is refused with its place', () => {
    const fault = { path: 'members.1.profile', message: expect.stringContaining('"analyst"') as string }
    expect(withMemberProfiles(args, () => null)).toMatchObject({ ok: false, error: fault })
  })

  it('that nobody looked up is refused, and not left out', () => {
    refuses(agentTeam, args, { code: 'invalid_arguments', path: 'members.1.profile', parts: ['"analyst"'] })
  })

  it.each([[null], [3], [{}], [{ members: 'a', coordinator: [] }]])('is not looked for in %j', (odd) => {
    expect(withMemberProfiles(odd, () => null)).toEqual({ ok: true, args: odd })
  })
})
