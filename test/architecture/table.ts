// The table: what each package may reach, and who may do what only some may. The reasons stand beside the lines.
// docs/ARCHITECTURE.md shows the same for people. A line that nothing needs any more is itself a finding.

/** What one package may import in its sources. */
export interface Row {
  /** Packages of this workspace. */
  readonly packages: readonly string[]
  /** From the registry. */
  readonly modules: readonly string[]
  /** Modules of Node.js: these, or any. */
  readonly node: readonly string[] | 'any'
}

export const table: Readonly<Record<string, Row>> = {
  // Pure: no I/O, no clock, no randomness, but for the adapters that stand beside the ports Clock and Ids. node:crypto is there to
  // hash the chain and for ids, re2js to match in bounded time.
  'packages/core': { packages: [], modules: ['re2js', 'ulid', 'zod'], node: ['crypto'] },
  // What goes over the wire, for both sides of it: schemas alone, nothing that runs.
  'packages/contracts': { packages: ['core'], modules: ['zod'], node: [] },
  // cel-js evaluates the expressions of workflow definition files.
  'packages/workflows': { packages: ['core'], modules: ['@marcbachmann/cel-js', 'zod'], node: [] },

  // What an agent is. yaml reads the front matter of a skill.
  // html-to-text and ipaddr.js are for web_fetch.
  'packages/agent': { packages: ['core', 'workflows'], modules: ['html-to-text', 'ipaddr.js', 'xstate', 'yaml', 'zod'], node: 'any' },
  'packages/providers': { packages: ['core', 'agent'], modules: ['openai', 'undici', 'zod'], node: 'any' },

  // The supervisors. They see the journal, the queue and the blobs through ports only: no NATS here.
  'packages/runtime': {
    packages: ['core', 'contracts', 'workflows', 'agent'],
    modules: ['xstate', 'piscina', 'zod'],
    node: ['fs/promises', 'module', 'path', 'worker_threads'],
  },

  // Adapters, one technology each.
  'packages/nats': {
    packages: ['core', 'contracts', 'process'],
    modules: ['@nats-io/jetstream', '@nats-io/kv', '@nats-io/nats-core', '@nats-io/obj', '@nats-io/transport-node', 'zod'],
    node: 'any',
  },
  // The independent checker shares no code with what it checks: nothing of this workspace. node:fs is for exports.
  'packages/check': { packages: [], modules: ['@nats-io/nats-core', 'zod'], node: ['crypto', 'fs', 'fs/promises'] },
  'packages/projection': { packages: ['core', 'contracts'], modules: ['zod'], node: ['crypto', 'fs', 'sqlite'] },
  // The client is a NATS client, and subjects are built in packages/nats only. workflows reads a team's configuration and journal.
  'packages/client': { packages: ['core', 'contracts', 'nats', 'workflows'], modules: ['@nats-io/nats-core'], node: [] },

  // Model Context Protocol, both sides. Its server forwards calls through a port: it never boots a runtime.
  'packages/mcp': {
    packages: ['core', 'agent', 'workflows'],
    modules: ['@modelcontextprotocol/client', '@modelcontextprotocol/node', '@modelcontextprotocol/server', 'zod'],
    node: 'any',
  },

  // For the apps: reading the configuration and who holds a home.
  'packages/config': { packages: ['core'], modules: ['zod'], node: ['fs', 'os', 'path'] },
  // A process's tie to its parent, how the operating system schedules it, and what it says on standard error.
  'packages/process': { packages: ['core'], modules: [], node: ['child_process', 'fs', 'module', 'util', 'worker_threads'] },

  // Twins, contract suites, a scripted model: for tests.
  'packages/testing': { packages: ['core', 'agent', 'runtime', 'workflows'], modules: ['vitest', 'zod'], node: 'any' },

  // Composition roots: they choose the adapters.
  'apps/cli': {
    // agent: it lists the tools, definitions and profiles of the configuration without a system.
    packages: [
      'core',
      'contracts',
      'workflows',
      'agent',
      'nats',
      'client',
      'config',
      'process',
      'providers',
      'projection',
      'mcp',
      'check',
      'supervisor',
      'projector',
    ],
    modules: ['commander', 'picocolors'],
    node: 'any',
  },
  'apps/supervisor': {
    packages: ['core', 'contracts', 'agent', 'runtime', 'nats', 'config', 'process', 'providers', 'mcp', 'workflows'],
    modules: ['@nats-io/nats-core'],
    node: 'any',
  },
  // A composition root for programs of one's own: the library's face.
  'packages/service': {
    packages: ['core', 'agent', 'workflows', 'client', 'config', 'nats', 'supervisor', 'projector'],
    modules: [],
    node: 'any',
  },
  'apps/projector': { packages: ['core', 'contracts', 'nats', 'config', 'process', 'projection'], modules: [], node: 'any' },
}

/** What tests may import besides. aimock is a fake provider that others wrote. */
export const testRow: Row = { packages: ['testing'], modules: ['@copilotkit/aimock', 'vitest', 'fast-check'], node: 'any' }

/** Places that are not held to a rule, and why. */
export interface Exception {
  readonly path: string
  /** What is excepted: the name of a use, the beginning of a text. */
  readonly what: string
  readonly why: string
}

/** Imports of what only running the program tells. */
export const computedImports: readonly Exception[] = [
  { path: 'packages/agent/src/tools/exported-tools.ts', what: 'import', why: 'modules with tools of a user, named in the configuration' },
]

export const environmentReaders: readonly Exception[] = [
  { path: 'packages/config/src/config.ts', what: 'process.env', why: 'the default of the argument `env`' },
  { path: 'packages/service/src/options.ts', what: 'process.env', why: 'the default of the option `env`' },
  {
    path: 'packages/providers/src/http-post.ts',
    what: 'process.env',
    why: 'NODE_USE_ENV_PROXY and the proxies are settings of Node.js; its own fetch reads them too',
  },
  {
    path: 'packages/agent/src/tools/process/child-environment.ts',
    what: 'process.env',
    why: 'a child gets PATH, HOME and the locale, and nothing else; that of a suspect tool what it would have had in the thread',
  },
  { path: 'packages/agent/src/tools/builtin/recount-by-system.ts', what: 'process.env', why: 'a child gets PATH and nothing else' },
]

export const stdoutWriters: readonly Exception[] = [
  { path: 'packages/providers/src/simulated/main.ts', what: 'process.stdout', why: 'a process entry: one line tells the parent its URL' },
]

export const impurities: readonly Exception[] = [
  { path: 'packages/core/src/ports/clock.ts', what: 'Date.now', why: 'systemClock, the adapter behind the port Clock, stands beside it' },
  { path: 'packages/core/src/ports/clock.ts', what: 'performance.now', why: 'steadyClock, an adapter behind the port Clock, stands beside it' },
  { path: 'packages/core/src/ports/clock.ts', what: 'setTimeout', why: 'systemClock, the adapter behind the port Clock, stands beside it' },
]

export const subjectBuilders: readonly Exception[] = [{ path: 'packages/nats/src/subjects.ts', what: 'beaver.', why: 'the one place' }]

/** Ways around the types, in sources. Tests may forge ids, but have no `any` either. */
export const typeEscapes: readonly (Exception & { readonly times: number })[] = [
  { path: 'bench/peers.ts', what: 'any', times: 1, why: 'a peer is installed on first use; it has no types here' },
  { path: 'packages/core/src/json.ts', what: 'as unknown as', times: 2, why: 'the types of z.json() are those of mutable data' },
  { path: 'packages/core/src/ids.ts', what: 'as unknown as', times: 4, why: 'an id gets its brand here, once for each kind' },
  { path: 'packages/core/src/graph/team-step.ts', what: 'as never', times: 2, why: 'a run id that the port Ids made' },
  {
    path: 'packages/agent/src/tools/builtin/recount-in-process.ts',
    what: 'as unknown as',
    times: 1,
    why: 'readdir with encoding buffer gives names as buffers; its types do not say so',
  },
  { path: 'packages/runtime/src/worker/serve-shard.ts', what: 'as never', times: 1, why: 'a reply, whose call the other side knows the type of' },
  {
    path: 'packages/runtime/src/worker/worker-pool.ts',
    what: 'as never',
    times: 1,
    why: 'a MessagePort of node:worker_threads is not what the types of Piscina call one',
  },
]

/** Lines a file may have. */
export const linesMax = 400
