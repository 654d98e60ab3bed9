package job

import (
	"errors"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tree is a process with all that it starts, in a job object. The kernel ends the
// tree when this program ends, however that comes about: it closes the handle then.
type tree struct{ object windows.Handle }

// start starts cmd as a tree. The process begins only when it is in the job object,
// so it can't start another process outside.
func start(cmd *exec.Cmd) (*tree, error) {
	object, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	t := &tree{object}
	if err := t.limit(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(object))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(object))
	}
	pid := uint32(cmd.Process.Pid)
	if err := errors.Join(t.add(pid), resume(pid)); err != nil {
		_ = cmd.Process.Kill() // it has done nothing yet
		_ = cmd.Wait()
		return nil, errors.Join(err, windows.CloseHandle(object))
	}
	return t, nil
}

// limit sets the flags of the job object.
func (t *tree) limit(flags uint32) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = flags
	_, err := windows.SetInformationJobObject(t.object, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return err
}

// add puts a process into the job object.
func (t *tree) add(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	return errors.Join(windows.AssignProcessToJobObject(t.object, process), windows.CloseHandle(process))
}

// kill ends all processes of the tree.
func (t *tree) kill() error { return windows.TerminateJobObject(t.object, 1) }

// leave lets processes go on that the command has left in the background, as on other
// systems.
func (t *tree) leave() error {
	return errors.Join(t.limit(0), windows.CloseHandle(t.object))
}

// resume lets a process begin that was started suspended. It has one thread.
func resume(pid uint32) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(threads)
	var entry windows.ThreadEntry32
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(err, windows.CloseHandle(thread))
	}
	return err // that there are no more threads
}
