// What is published, as data: the name of the package, what a program can import from it, which modules of
// others are in it, and which ones a user adds. See docs/decisions/0125-one-package-with-libraries-inside.md.
import { optionalPackages } from '@beaver/platform'
import { natsServerName as natsServerNameOf, publishedName } from '@beaver/platform/installation'

export { natsServerPlatforms } from '@beaver/platform/installation'

export const packageName = process.env['BEAVER_PACKAGE_NAME'] ?? publishedName

/** Where the sources are. It is not known before somebody owns the name, so a release names it. */
export const repository = process.env['BEAVER_REPOSITORY'] ?? null

export const natsServerName = (platform: string): string => natsServerNameOf(platform, packageName)

/**
 * Each sub-path with the exports of this workspace that it offers. Nothing else can be imported, so what is
 * inside may change.
 */
export const subPaths: Readonly<Record<string, readonly string[]>> = {
  '.': ['@beaver/service'],
  './client': ['@beaver/client'],
  './tool': ['@beaver/agent/tool'],
  './workflows': ['@beaver/workflows', '@beaver/team-patterns'],
  './journal': ['@beaver/core/journal', '@beaver/core/fold', '@beaver/core/task-view'],
  './check': ['@beaver/check'],
  './http': ['@beaver/http'],
  './ai-sdk': ['@beaver/ai-sdk'],
  './email': ['@beaver/channels/email'],
  './chat': ['@beaver/channels/chat-sdk'],
}

/** Modules of others that are in the package as one file each: by what imports them, and from which package. */
export const vendored: Readonly<Record<string, { readonly file: string; readonly from: string }>> = {
  openai: { file: 'openai', from: 'packages/providers' },
  'openai/auth': { file: 'openai-auth', from: 'packages/providers' },
  undici: { file: 'undici', from: 'packages/providers' },
  xstate: { file: 'xstate', from: 'packages/agent' },
  'html-to-text': { file: 'html-to-text', from: 'packages/tools' },
  '@modelcontextprotocol/client': { file: 'mcp-client', from: 'packages/mcp' },
  '@modelcontextprotocol/server': { file: 'mcp-server', from: 'packages/mcp' },
  '@modelcontextprotocol/server/stdio': { file: 'mcp-server-stdio', from: 'packages/mcp' },
  '@modelcontextprotocol/node': { file: 'mcp-node', from: 'packages/mcp' },
  '@agentclientprotocol/sdk': { file: 'acp', from: 'packages/acp' },
  '@a2a-js/sdk': { file: 'a2a', from: 'packages/http' },
  '@a2a-js/sdk/errors': { file: 'a2a-errors', from: 'packages/http' },
  '@ag-ui/core': { file: 'ag-ui', from: 'packages/http' },
  '@opentelemetry/api': { file: 'otel-api', from: 'packages/telemetry' },
  '@opentelemetry/exporter-trace-otlp-http': { file: 'otel-exporter', from: 'packages/telemetry' },
  '@opentelemetry/resources': { file: 'otel-resources', from: 'packages/telemetry' },
}

/** Bundled modules may use these, which the package depends on anyway. */
export const sharedWithVendored: readonly RegExp[] = [/^node:/, /^zod(\/|$)/]

/** Libraries that only some need. Beaver names them when they are missing. */
export const optionalPeers: readonly string[] = Object.values(optionalPackages).flat()

/** Sub-paths that cannot be loaded without packages that a user adds, with the key of those. */
export const pathsWithPeers: Readonly<Record<string, keyof typeof optionalPackages>> = {
  './ai-sdk': 'ai-sdk',
  './email': 'email',
}

/** Files with effects when they load: processes, threads, cells, and the command. */
export const sideEffects: readonly string[] = [
  './bin/*',
  './apps/*/dist/main.js',
  './packages/**/*-entry.js',
  './packages/**/*-thread.js',
  './packages/**/worker.js',
]
