// Package zkgocron lets several instances of a program share the jobs of gocron
// (github.com/go-co-op/gocron/v2) by way of ZooKeeper.
//
// There are two ways, as gocron has them. A [Locker] lets each run of a job go to one
// instance, whichever is first:
//
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(
//		zkgocron.NewLocker(session, "/locks/cron", time.Second)))
//
// An [Elector] lets one instance run all jobs, until it fails:
//
//	elector := zkgocron.NewElector(session, "/locks/cron-leader")
//	defer elector.Close()
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
//
// The Elector is the safer choice for jobs that start by the clock: the clocks of
// instances differ, so that one of them may come to a run when another one has already
// done it. The Locker has its hold time for that.
//
// gocron asks before a run, and not during it. A job that has to end when the lock or the
// leadership is lost uses [Locker.OnLost], or the hold of [Elector.Hold], whose context
// ends then and whose fence the job's writes can carry.
package zkgocron
