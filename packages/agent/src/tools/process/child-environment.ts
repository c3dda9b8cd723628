// What a child process of a tool knows of our environment: where programs and the home are, and how to write. No keys, no tokens,
// unless the tool would have had them in our own process.

const inherited = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

export function childEnvironment(from: Readonly<Record<string, string | undefined>> = process.env): Record<string, string> {
  return Object.fromEntries(inherited.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])))
}

/** All that this process knows of its environment: for a tool that runs in a child process although it did not ask for it. */
export function wholeEnvironment(from: Readonly<Record<string, string | undefined>> = process.env): Record<string, string> {
  return Object.fromEntries(Object.entries(from).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
