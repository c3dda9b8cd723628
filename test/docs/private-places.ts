// What must not stand in a published file: places of one machine, and the hosts of package registries, public
// ones too.

// Put together, so that this file does not hold what it looks for.
const places = new RegExp(`(?<![\\w./-])/(?:${['work', 'root', 'home'].join('|')})/[\\w.-]+`, 'g')
// Nobody's: tests use them.
const madeUp = new Set(['me', 'logs'].map((name) => ['', 'home', name].join('/')))
const urls = /\b(?:https?|git\+\w+):\/\/(?:[^\s/@'"`]*@)?([\w.-]+)/g
const registryName =
  /(?:^|[.-])(?:registry|npm|npmjs|deb|nexus|artifactory|verdaccio|mirror|proxy|pypi)(?:[.-]|$)/i
const reserved = /(?:^|\.)(?:example|example\.(?:com|org|net)|invalid|test|localhost)$/

/** One line a finding: `line what`. */
export function privatePlaces(text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const found = [...line.matchAll(places)].map((match) => match[0]).filter((place) => !madeUp.has(place))
    const registries = [...line.matchAll(urls)]
      .map((match) => match[1] ?? '')
      .filter(
        (host) =>
          (registryName.test(host) || /^(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./.test(host)) &&
          !reserved.test(host),
      )
    const credentials = /_(?:authToken|auth|password)\s*=/.test(line) ? ['credentials'] : []
    return [...found, ...registries, ...credentials].map((what) => `${index + 1} ${what}`)
  })
}
