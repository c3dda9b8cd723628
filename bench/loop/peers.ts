// The peers a bench compares with: installed on first use, outside the main install, under .beaver/bench.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = join(root, '.beaver/bench/langgraph')
const dependencies = { '@langchain/core': '1.4.0', '@langchain/langgraph': '1.7.3', '@langchain/openai': '1.6.0', zod: '4.6.7' }

export function installPeers(say: (line: string) => void): void {
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies }, null, 2)
  const done = join(folder, 'installed.json')
  if (existsSync(done)) return
  say(
    `bench: installing ${Object.entries(dependencies)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')} in .beaver/bench (once)`,
  )
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), manifest)
  writeFileSync(join(folder, 'pnpm-workspace.yaml'), 'packages: []\n')
  const pnpm = join(root, '.beaver/tools/pnpm/node_modules/.bin/pnpm')
  execFileSync(pnpm, ['install', '--store-dir', join(root, '.beaver/cache/pnpm-store')], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  writeFileSync(done, manifest)
}

// The peers' types are not there before the first use.
// oxlint-disable-next-line typescript/no-explicit-any
export async function importPeer(name: string): Promise<any> {
  return import(pathToFileURL(createRequire(join(folder, 'package.json')).resolve(name)).href)
}
