/** The value of a gauge of a workspace in OpenMetrics text; 0 if it is not there. */
export function gaugeOf(text: string, name: string, workspace: string): number {
  const line = text.split('\n').find(line => line.startsWith(`${name}{workspace="${workspace}"} `));
  return line === undefined ? 0 : Number(line.split(' ')[1]);
}
