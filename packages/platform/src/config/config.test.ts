import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { loadConfig } from './config.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-config-'))
  mkdirSync(join(folder, 'elsewhere'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function configOf(content: object, cwd = folder) {
  const file = join(folder, 'elsewhere', 'beaver.config.json')
  writeFileSync(file, JSON.stringify(content))
  return loadConfig({ config: file }, {}, cwd)
}

describe('workflows and profiles', () => {
  it('are places relative to the configuration file, wherever the process runs', () => {
    const { workflows, profiles, profile } = configOf({
      workflows: ['./workflows', '../shared', '/abs'],
      profiles: ['a/agent_profile.json'],
      profile: 'analyst',
    })
    expect(workflows).toEqual([join(folder, 'elsewhere', 'workflows'), join(folder, 'shared'), '/abs'])
    expect(profiles).toEqual([join(folder, 'elsewhere', 'a', 'agent_profile.json')])
    expect(profile).toBe('analyst')
  })

  it('are none by default', () => {
    const { workflows, profiles, profile } = configOf({})
    expect([workflows, profiles, profile]).toEqual([[], [], undefined])
  })

  test.each<[object, string]>([
    [{ workflows: './workflows' }, 'workflows'],
    [{ gateway: { image_origins: ['ftp://images.example'] } }, 'gateway.image_origins.0'],
    [{ gateway: { image_origins: ['https://*.example'] } }, 'gateway.image_origins.0'],
    [{ workflows: [1] }, 'workflows.0'],
    [{ workflows: [''] }, 'workflows.0'],
    [{ profiles: {} }, 'profiles'],
    [{ profiles: ['a', ''] }, 'profiles.1'],
    [{ profile: '' }, 'profile'],
    [{ profile: ['analyst'] }, 'profile'],
  ])('of another shape are refused with their place: %j', (content, path) => {
    expect(() => configOf(content)).toThrow(
      expect.objectContaining({
        code: 'invalid_configuration',
        problems: [expect.objectContaining({ path })],
      }),
    )
  })
})

describe('the bound of turns that are the same', () => {
  it('is 5, or what is configured, or none', () => {
    const bounds = [{}, { repeats_max: 2 }, { repeats_max: null }].map(
      (agent) => configOf({ agent }).agent.repeats_max,
    )
    expect(bounds).toEqual([5, 2, null])
  })

  it.each([0, 1, 2.5, '5'])('is never %j', (repeats_max) => {
    expect(() => configOf({ agent: { repeats_max } })).toThrow(
      expect.objectContaining({ problems: [expect.objectContaining({ path: 'agent.repeats_max' })] }),
    )
  })
})

describe('the MCP server that Beaver manages', () => {
  it('is in every configuration', () => {
    expect(configOf({}).managedMcp).toEqual({
      local_team_workflow_mcp: {
        category: 'team_workflow',
        display_name: '本地 Agent Team Workflow 工具',
        managed: true,
        runs_in: 'daemon',
      },
    })
  })

  it('is not configured by anybody', () => {
    const mine = { command: 'beaver' }
    expect(() => configOf({ mcp: { mine, local_team_workflow_mcp: mine } })).toThrow(
      /mcp\.local_team_workflow_mcp: Beaver manages this MCP server itself\./,
    )
    expect(() => loadConfig({ set: { mcp: { local_team_workflow_mcp: mine } } }, {}, folder)).toThrow(
      /Beaver manages this MCP server itself/,
    )
    expect(Object.keys(configOf({ mcp: { mine } }).mcp)).toEqual(['mine'])
  })
})

describe('what a program sets', () => {
  const file = (content: object): string => {
    const path = join(folder, 'elsewhere', 'beaver.config.json')
    writeFileSync(path, JSON.stringify(content))
    return path
  }

  it('wins over the environment and the file, key by key; a list takes the place of a list', () => {
    const config = file({
      daemon: { tasks_max: 3, drain_ms: 7 },
      namespace: 'of_file',
      tools: ['a.ts'],
      skills: ['s'],
    })
    const set = { daemon: { tasks_max: 5 }, tools: ['b.ts'], tenant: undefined }
    const read = loadConfig({ config, set }, { BEAVER_TASKS_MAX: '4', BEAVER_TENANT: 'of_env' }, folder)
    expect(read).toMatchObject({
      daemon: { tasks_max: 5, drain_ms: 7 },
      namespace: 'of_file',
      tenant: 'of_env',
    })
    // Paths of the program are relative to where it works, those of the file to the file.
    expect([read.tools, read.skills]).toEqual([[join(folder, 'b.ts')], [join(folder, 'elsewhere', 's')]])
  })

  it('is named as the origin of what is wrong, and is not changed', () => {
    const set = { daemon: { tasks_max: 0 } }
    expect(() => loadConfig({ config: file({}), set }, {}, folder)).toThrow(
      /daemon\.tasks_max: .*\(from the program\)/,
    )
    expect(set).toEqual({ daemon: { tasks_max: 0 } })
  })
})
