import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { roleLogin } from './login.ts'

function folderWith(...names: readonly string[]) {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'beaver-keys-'))
  for (const name of names) writeFileSync(join(folder.path, `${name}.nk`), '')
  return folder
}

const roleKeys = ['daemon', 'projector', 'gateway', 'operator']

test.each([
  ['the key "client"', [...roleKeys, 'client', 'anna'], 'client'],
  ['the only key of a client', [...roleKeys, 'anna'], 'anna'],
  ['the only key of a client, whose name needs an encoding', [...roleKeys, 'anna=20b'], 'anna b'],
  ['"client", which the server then misses, in an empty folder', [], 'client'],
])('a client without a name has %s', (_, names, caller) => {
  using folder = folderWith(...names)
  expect(roleLogin({ keysFolder: folder.path }, 'client')).toMatchObject({ caller })
})

test('a client has the key of the name that it was given', () => {
  using folder = folderWith(...roleKeys, 'anna', 'ben')
  expect(roleLogin({ keysFolder: folder.path, caller: 'operator' }, 'client')).toEqual({
    caller: 'operator',
    nkeyFile: join(folder.path, 'operator.nk'),
  })
})

test.each([
  [['anna', 'ben'], /BEAVER_CALLER to a name whose key is in .*: anna, ben, operator\.$/],
  [[], /BEAVER_CALLER to a name whose key is in .*: operator\.$/],
])(
  'a client that could be several (%j) is asked for its name, with those that there are',
  (clients, message) => {
    using folder = folderWith(...roleKeys, ...clients)
    expect(() => roleLogin({ keysFolder: folder.path }, 'client')).toThrow(
      expect.objectContaining({ code: 'invalid_configuration', message: expect.stringMatching(message) }),
    )
  },
)

test.each(['daemon', 'projector', 'gateway', 'operator'] as const)(
  'a %s has its own key, whoever the caller is',
  (role) => {
    expect(roleLogin({ keysFolder: '/keys', caller: 'anna' }, role)).toEqual({
      caller: role,
      nkeyFile: `/keys/${role}.nk`,
    })
  },
)
