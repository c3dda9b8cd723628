// The published package as data: its names fit those that an installed Beaver and a project of a user have.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { importedByUsers, optionalPackages } from '@beaver/platform'
import { expect, it } from 'vitest'
import { root } from './lib/layout.mjs'
import { natsServerName, optionalPeers, packageName, subPaths, vendored } from './lib/published.ts'

const manifests = globSync('{packages,apps}/*/package.json', { cwd: root }).map(
  (file) =>
    JSON.parse(readFileSync(join(root, file), 'utf8')) as {
      name: string
      publishConfig?: { exports?: Record<string, unknown> }
      dependencies?: Record<string, string>
      optionalDependencies?: Record<string, string>
    },
)
const exported = new Set(
  manifests.flatMap(({ name, publishConfig }) =>
    Object.keys(publishConfig?.exports ?? {}).map((path) => name + path.slice(1)),
  ),
)
const needed = new Set(
  manifests.flatMap(({ dependencies, optionalDependencies }) =>
    Object.keys({ ...dependencies, ...optionalDependencies }),
  ),
)

it('each sub-path is made of exports that the workspace publishes', () => {
  expect(
    Object.values(subPaths)
      .flat()
      .filter((module) => !exported.has(module)),
  ).toEqual([])
})

it('what files of users import has a sub-path with the same values', () => {
  for (const [module, path] of Object.entries(importedByUsers).filter(([name]) => name !== '@beaver/agent'))
    expect(subPaths[`.${path}`]).toEqual([module])
})

it('what is bundled, or added by users, is a dependency of a package', () => {
  const packageOf = (name: string): string =>
    name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/')
  expect(
    [...Object.keys(vendored).map(packageOf), ...optionalPeers].filter((name) => !needed.has(name)),
  ).toEqual([])
  expect(optionalPeers.toSorted()).toEqual(Object.values(optionalPackages).flat().toSorted())
})

it('the package of a nats-server has the scope of Beaver', () => {
  expect(natsServerName('linux-x64')).toBe(`${packageName.split('/')[0]}/nats-server-linux-x64`)
})
