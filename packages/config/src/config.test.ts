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
    [{ workflows: [1] }, 'workflows.0'],
    [{ workflows: [''] }, 'workflows.0'],
    [{ profiles: {} }, 'profiles'],
    [{ profiles: ['a', ''] }, 'profiles.1'],
    [{ profile: '' }, 'profile'],
    [{ profile: ['analyst'] }, 'profile'],
  ])('of another shape are refused with their place: %j', (content, path) => {
    expect(() => configOf(content)).toThrow(expect.objectContaining({ code: 'invalid_configuration', problems: [expect.objectContaining({ path })] }))
  })
})
