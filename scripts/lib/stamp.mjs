// Stamp: the key under which a finished set-up is remembered. The set-up decides what to do about a
// difference. The key changes with anything that could change what gets installed. It does not change with
// the order in which files were found.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @param {object} input
 * @param {readonly (readonly [name: string, content: string])[]} input.files
 * @param {string} input.platform such as `linux-x64`
 * @param {string} input.root a moved tree is set up anew: what was recorded names absolute paths
 * @returns {string} 64 hex digits
 */
export function stampKey({ files, platform, root }) {
  const hash = createHash('sha256').update(JSON.stringify(['1', platform, root]))
  for (const file of [...files].sort((a, b) => (a[0] < b[0] ? -1 : 1))) hash.update(JSON.stringify(file))
  return hash.digest('hex')
}

/**
 * The files the key is made of; `pnpm-lock.yaml` is the caller's to miss.
 * @param {string} root
 * @returns {[name: string, content: string][]}
 */
export function stampFiles(root) {
  const names = [
    'package.json',
    'pnpm-workspace.yaml',
    'pnpm-lock.yaml',
    ...workspaceDirs(root).map((dir) => `${dir}/package.json`),
  ]
  return names.flatMap((name) => {
    const content = readOrNull(join(root, name))
    return content === null ? [] : [[name, content]]
  })
}

/**
 * The workspace's package folders, relative to the root.
 * @param {string} root
 * @returns {string[]}
 */
export function workspaceDirs(root) {
  return workspacePatterns(readOrNull(join(root, 'pnpm-workspace.yaml')) ?? '').flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern]
    const parent = pattern.slice(0, -2)
    return entriesOf(join(root, parent)).map((name) => `${parent}/${name}`)
  })
}

/**
 * The entries of the `packages:` list of a pnpm-workspace.yaml.
 * @param {string} yaml
 * @returns {string[]}
 */
export function workspacePatterns(yaml) {
  const block = /^packages:[ \t]*\n((?:[ \t]*(?:-.*|#.*)?\n)*)/m.exec(`${yaml}\n`)?.[1] ?? ''
  return [...block.matchAll(/^[ \t]*-[ \t]*['"]?([^'"#\s]+)/gm)].map((found) => found[1])
}

function readOrNull(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

function entriesOf(path) {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .sort()
  } catch {
    return []
  }
}
