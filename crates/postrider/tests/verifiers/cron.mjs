// The next times of cron expressions, by the library croner: standard input has a JSON array of
// {cron, zone, after, count}, `after` in milliseconds since 1970; what comes out is the array of their times.
import { readFileSync } from 'node:fs';
import { Cron } from 'croner';

const times = ({ cron, zone, after, count }) => {
  // As Vixie cron tells times of the day from intervals: by the wildcard.
  const job = new Cron(cron, { timezone: zone, mode: '5-part', fixedTimeRule: 'no-wildcard' });
  const found = [];
  let last = new Date(after);
  while (found.length < count) {
    last = job.nextRun(last);
    if (last === null) break;
    found.push(last.getTime());
  }
  return found;
};
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(times)));
