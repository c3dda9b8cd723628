// The pages of the console, from the folder of its build. All files are read once and kept in memory, so no
// request reaches the disk, and no path leads out of the folder. A path that is none of the files is a page:
// the program in the browser knows it. The Content-Security-Policy lets the pages load and ask only what has
// their own origin, and run no text as a program.
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { installation } from '@beaver/platform'
import { HttpProblem } from './problem.ts'

export const consolePath = '/console'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "font-src 'none'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const headersOfPages = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

interface PageFile {
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The same, compressed by the build. `null`: the build has not compressed it. */
  readonly gzip: Uint8Array<ArrayBuffer> | null
}

export interface ConsolePages {
  /** Answers a request under `/console`. @throws {HttpProblem} `not_found` */
  answer(path: string, acceptEncoding: string | undefined): Response
}

/**
 * Reads the pages.
 *
 * @param folder the absolute path of the build
 */
export function consolePages(folder: string): ConsolePages {
  const files = filesIn(folder)
  const page = files.get('index.html')
  return {
    answer(path, acceptEncoding) {
      const name = path.slice(consolePath.length + 1)
      const file = files.get(name)
      if (file !== undefined && name !== 'index.html') return sent(file, acceptEncoding, name)
      if (name.startsWith('assets/'))
        throw new HttpProblem(
          'not_found',
          'This file belongs to another version of the console. Load the page again.',
        )
      if (page === undefined)
        throw new HttpProblem('not_found', `The console is not built. ${consoleAdvice()}`)
      return sent(page, acceptEncoding, name)
    },
  }
}

const consoleAdvice = (): string =>
  installation().kind === 'checkout' ? 'Run "node scripts/setup.mjs".' : 'Install Beaver again.'

function filesIn(folder: string): ReadonlyMap<string, PageFile> {
  let names: string[]
  try {
    names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
      name.replaceAll('\\', '/'),
    )
  } catch {
    return new Map()
  }
  const known = new Set(names)
  const read = (name: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(join(folder, name)))
  return new Map(
    names.flatMap((name) => {
      const type = types[extname(name)]
      if (type === undefined) return []
      const gzip = known.has(`${name}.gz`) ? read(`${name}.gz`) : null
      return [[name, { type, bytes: read(name), gzip }] as const]
    }),
  )
}

function sent({ type, bytes, gzip }: PageFile, acceptEncoding: string | undefined, name: string): Response {
  const packed = gzip !== null && /\bgzip\b/i.test(acceptEncoding ?? '') ? gzip : null
  return new Response(packed ?? bytes, {
    headers: {
      ...headersOfPages,
      'content-type': type,
      vary: 'accept-encoding',
      // The names of the files in `assets` change with their contents.
      'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-store',
      ...(packed === null ? {} : { 'content-encoding': 'gzip' }),
    },
  })
}
