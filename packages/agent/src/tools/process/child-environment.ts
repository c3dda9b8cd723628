// What a child process of a tool knows of our environment: where programs and the home are, and how to write. No keys, no tokens.

const inherited = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

export function childEnvironment(from: Readonly<Record<string, string | undefined>> = process.env): Record<string, string> {
  return Object.fromEntries(inherited.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])))
}
