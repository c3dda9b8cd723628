import { expect, it } from 'vitest'
import { loadConfig } from './config.ts'
import { workspaceRootsEnvironment } from './workspace-roots.ts'

const roots = (set: object, env: Record<string, string> = {}): unknown =>
  loadConfig({ set }, env, '/nowhere/here').workspaceRoots

it('are the daemon’s folder, and for an embedded server what the user owns', () => {
  expect(roots({})).toEqual({ roots: ['/nowhere/here'], owned: true, home: '/nowhere/here/.beaver' })
  expect(roots({ nats_url: 'nats://elsewhere:4222' })).toMatchObject({
    roots: ['/nowhere/here'],
    owned: false,
  })
})

it('are what the configuration names, and what the environment names before it', () => {
  expect(roots({ workspace_roots: ['a', '/srv'] })).toMatchObject({
    roots: ['/nowhere/here/a', '/srv'],
    owned: false,
  })
  expect(roots({ workspace_roots: ['a'] }, { BEAVER_WORKSPACE_ROOTS: '/one:/two' })).toMatchObject({
    roots: ['/one', '/two'],
    owned: false,
  })
})

it('reach a child process as they are', () => {
  for (const set of [{}, { workspace_roots: ['a'] }, { nats_url: 'nats://elsewhere:4222' }]) {
    const config = loadConfig({ set }, {}, '/nowhere/here')
    const child = loadConfig(
      { set: { nats_url: 'nats://127.0.0.1:1' } },
      workspaceRootsEnvironment(config),
      '/elsewhere',
    )
    expect(child.workspaceRoots).toEqual({ ...config.workspaceRoots, home: '/elsewhere/.beaver' })
  }
})
