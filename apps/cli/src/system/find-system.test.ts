import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig, writeSystemFile } from '@beaver/platform'
import { osUser } from '@beaver/platform/os-user'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { commandName } from '../command-name.ts'
import { findSystem, mustRead } from './find-system.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'beaver-home-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const system = {
  nats_url: 'nats://127.0.0.1:4222',
  namespace: 'default',
  tenant: 'local',
  started_at: '2027-01-09T12:00:00Z',
  embedded: true,
  children: {},
}

describe('the system a command uses', () => {
  test('is the one that runs in its home', () => {
    writeSystemFile(home, system)
    expect(findSystem(loadConfig({ home }, {}, home)).url).toBe(system.nats_url)
  })

  test('a configured server wins over what runs in the home', () => {
    writeSystemFile(home, system)
    expect(
      findSystem(loadConfig({ home, natsUrl: 'nats://flag:1' }, { NATS_URL: 'nats://env:1' }, home)).url,
    ).toBe('nats://flag:1')
    expect(findSystem(loadConfig({ home }, { NATS_URL: 'nats://env:1' }, home)).url).toBe('nats://env:1')
    writeFileSync(join(home, 'beaver.config.json'), '{"nats_url": "nats://file:1"}')
    expect(findSystem(loadConfig({ home, trust: true }, {}, home)).url).toBe('nats://file:1')
  })

  test('gets the login of the environment, and at the embedded server that of a client', () => {
    const env = { NATS_USER: 'ann', NATS_PASSWORD: 'secret' }
    const login = { user: 'ann', password: 'secret' }
    expect(findSystem(loadConfig({ home }, { ...env, NATS_URL: 'nats://env:1' }, home)).login).toEqual(login)
    writeSystemFile(home, system)
    expect(findSystem(loadConfig({ home }, env, home)).login).toEqual({
      nkeyFile: join(home, 'nats', 'keys', 'client.nk'),
      caller: osUser(),
    })
    writeSystemFile(home, { ...system, embedded: false })
    expect(findSystem(loadConfig({ home }, env, home)).login).toEqual(login)
  })

  test('nothing at all is one clear error', () => {
    expect(() => findSystem(loadConfig({ home }, {}, home))).toThrow(
      `No Beaver system is running with its data in ${home}. Start one with "${commandName()} up", or set NATS_URL.`,
    )
  })

  test.each(['EACCES', 'EPERM'])(
    'a folder that the user may not read (%s) is named with the user, and says nothing of what runs',
    (code) => {
      const access = (path: string): void => {
        if (path !== home) throw Object.assign(new Error(`${code}: no`), { code })
      }
      const told = `The user ${osUser()} may not read ${home}/run (${code}). Run the command as the user who runs Beaver, or choose another home with --home.`
      expect(() => mustRead([home, `${home}/run`], access)).toThrow(
        expect.objectContaining({ code: 'unreachable', message: told }) as Error,
      )
    },
  )

  test('a folder that does not exist is none that may not be read', () => {
    mustRead([join(home, 'none')])
  })
})
